// The subcommands. Each is a function of its parsed options. They throw Error, which cli.cpp turns into a
// message and an exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/range.h"
#include "diagnostics/all_reduce_bench.h"
#include "diagnostics/doctor.h"
#include "documentation/first_job.h"
#include "experiments/search_space.h"
#include "experiments/sweep.h"
#include "inference/evaluation.h"
#include "inference/find_checkpoint.h"
#include "job_file/overrides.h"
#include "runs/rate_test.h"

namespace dtrain {

struct SpecOptions {
  std::string spec;  // the file, or "-" for the standard input
  Overrides overrides;
};

struct RunOptions {
  SpecOptions spec;
  std::optional<std::string> run_directory;
  std::optional<std::string> inspect_step;
  std::optional<std::string> resume;  // "auto", or a path
  bool overwrite = false;
  bool quiet = false;
  bool json = false;
};

struct ResizeOptions {
  std::string run;
  int64_t replicas = 1;
};

struct ReplicaOptions {
  std::string plan;  // the file
  std::string run;
  std::string folder;  // of the run
  bool resumes = false;
  std::string checkpoint;
};

struct CacheCommandOptions {
  bool clear = false;  // remove the files after listing them
  bool json = false;
};

struct PlanOptions {
  SpecOptions spec;
  bool json = false;
  bool explain = false;                           // measures the layers
  std::optional<std::string> plot_learning_rate;  // the file, or "" for the terminal
  std::optional<std::string> compile_for;         // a topology of TPUs or GPUs, "v5e:2x2"
  std::optional<std::string> stablehlo;           // the folder for the texts of the job's programs
  // A forecast for these numbers of hosts, joined by this link, from a run or measured.
  std::vector<int64_t> at_hosts;
  std::string link;
  std::optional<std::string> from;
};

struct EvalOptions {
  CheckpointChoice checkpoint;
  EvaluationJob evaluation;         // without its checkpoint
  std::optional<std::string> data;  // the dataset's folder
  bool json = false;
};

struct PredictOptions {
  CheckpointChoice checkpoint;
  std::vector<std::string> files;
  int64_t top = 3;
  std::optional<double> threshold;  // of outputs that say yes or no
  bool resize = false;
  bool csv = false;  // of pictures, as tables always are
  bool json = false;
};

struct ExportOptions {
  CheckpointChoice checkpoint;
  std::string format = "safetensors";  // or onnx, torchscript
  std::optional<std::string> out;      // the file; nullopt: one in the working folder
  bool uint8 = false;                  // onnx: the input is of uint8
  bool softmax = false;                // onnx and torchscript: the output is probabilities
  bool overwrite = false;
};

struct CompareOptions {
  std::vector<std::string> runs;
  std::optional<double> max_regression;  // percent
  bool json = false;
};

struct WatchOptions {
  std::vector<std::string> runs;
  bool once = false;
  bool json = false;
};

struct VerifyOptions {
  std::vector<std::string> runs;  // one to compute again, or two to compare
  std::optional<Range> steps;
  std::optional<int64_t> replicas;
  bool json = false;
};

struct ReportOptions {
  std::vector<std::string> runs;
  std::optional<std::string> out;  // nullopt: report.html in the working folder
  bool without_mistakes = false;   // do not predict the test examples of a single run
  bool overwrite = false;
};

// Of the commands that try values of a spec's fields.
struct SearchOptions {
  SpecOptions spec;
  std::optional<std::string> out;  // the folder; of find-lr the page
  bool json = false;
  bool quiet = false;
};

struct SweepCommandOptions : SearchOptions {
  SweepOptions plan;  // in any order; without `strong`, which is in `mode`
  std::string mode = "weak";
};

struct TuneCommandOptions : SearchOptions {
  TuneOptions plan;                   // without its fields, which are in its `tries`
  std::optional<std::string> resume;  // the folder
};

struct RateCommandOptions : SearchOptions {
  RateTest test{.name = "", .from = 1e-7, .to = 10, .steps = 100};
  bool overwrite = false;
};

struct InitOptions {
  std::optional<std::string> file;    // nullopt: job.yaml, or with `from` the standard output
  std::optional<std::string> from;    // data to look at
  std::vector<std::string> targets;   // columns of a table to predict
  std::optional<std::string> plugin;  // write a project of a plug-in with this name, and no spec
  FirstJob job;
  bool overwrite = false;
};

struct ConfigsOptions {
  std::optional<std::string> name;
  std::optional<std::string> file;
  bool overwrite = false;
};

struct DataOptions {
  SpecOptions spec;
  std::optional<std::string> out;  // the page; of show: nullopt: batches.html; of pack the folder
  bool overwrite = false;
  bool json = false;                 // check, pack
  std::string shard_size = "500MB";  // pack
  bool index = false;                // pack: only the index of archives that are there
  int64_t epoch = 0;                 // show
  int64_t batches = 1;               // show
};

struct BenchOptions {
  AllReduceBench all_reduce;  // without its sizes, which are in `sizes`
  std::vector<std::string> sizes = {"100B..100MB"};
  bool json = false;
};

struct DoctorCommandOptions {
  DoctorOptions examined;        // `program`: empty: this one
  int64_t index = 0;             // doctor-host
  std::string plugin;            // plugin-devices
  bool plugin_for_gpus = false;  // the same
  bool json = false;
};

ExitCode run_command(const RunOptions& options);
ExitCode validate_command(const std::vector<std::string>& specs, const Overrides& overrides, bool json);
ExitCode plan_command(const PlanOptions& options);
ExitCode data_check_command(const DataOptions& options);
ExitCode data_show_command(const DataOptions& options);
ExitCode data_pack_command(const DataOptions& options);
ExitCode cache_command(const CacheCommandOptions& options);
ExitCode init_command(InitOptions options);
ExitCode configs_command(const ConfigsOptions& options);
ExitCode schema_command(bool markdown, bool events);
ExitCode eval_command(const EvalOptions& options);
ExitCode eval_replica_command(const EvalOptions& options);
ExitCode predict_command(const PredictOptions& options);
ExitCode compare_command(const CompareOptions& options);
ExitCode watch_command(const WatchOptions& options);
ExitCode verify_command(const VerifyOptions& options);
ExitCode report_command(const ReportOptions& options);
ExitCode export_command(const ExportOptions& options);
ExitCode resize_command(const ResizeOptions& options);
ExitCode inspect_command(const std::string& checkpoint, bool json);
ExitCode sweep_command(const SweepCommandOptions& options);
ExitCode tune_command(const TuneCommandOptions& options);
ExitCode find_lr_command(const RateCommandOptions& options);
ExitCode bench_command(const BenchOptions& options);
ExitCode bench_replica_command(const BenchOptions& options);
ExitCode doctor_command(const DoctorCommandOptions& options);
ExitCode doctor_host_command(const DoctorCommandOptions& options);
ExitCode plugin_devices_command(const DoctorCommandOptions& options);
ExitCode replica_command(const ReplicaOptions& options);

}  // namespace dtrain
