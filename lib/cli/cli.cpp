#include "cli/cli.h"

#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <utility>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/exit_code_help.h"
#include "cli/report_problems.h"
#include "cli/usage_error.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/standard_streams.h"
#include "core/text.h"
#include "core/version.h"
#include "inference/evaluate_replicas.h"
#include "report/report.h"
#include "train/describe_exception.h"
#include "train/resume.h"

namespace dtrain {
namespace {

constexpr const char* kSignals =
    "Signals: INT, TERM, HUP save and stop; USR1 saves; QUIT tells what every replica is doing.\n";

// What the command line asks for: the options of every subcommand, and what to do after parsing.
struct CommandLine {
  CLI::App app{
      "dtrain: a native distributed trainer. A YAML job spec in, a trained model and its numbers out.",
      "dtrain"};
  RunOptions run;
  PlanOptions plan;
  SweepCommandOptions sweep;
  BenchOptions bench;
  DoctorCommandOptions doctor;
  std::string benchmark;
  std::vector<std::string> specs;
  std::vector<std::string> overrides;
  ReplicaOptions replica;
  EvalOptions eval;
  PredictOptions predict;
  ExportOptions exported;
  CompareOptions compare;
  ReportOptions report;
  std::string shell;
  std::string checkpoint;
  bool json = false;
  bool markdown = false;
  bool events = false;
  bool output_is_progress = false;  // the results are in files, so nothing is lost if standard output fails
  std::function<ExitCode()> action;

  CommandLine();

 private:
  void add_run();
  void add_validate();
  void add_plan();
  void add_schema();
  void add_inspect();
  void add_eval();
  void add_predict();
  void add_export();
  void add_compare();
  void add_report();
  void add_completion();
  void add_sweep();
  void add_bench();
  void add_doctor();
  void add_replica();
};

CLI::Option* add_spec(CLI::App* command, std::string& spec) {
  return command->add_option("SPEC", spec, "The job spec (YAML)")->required()->type_name("");
}

void add_overrides(CLI::App* command, std::vector<std::string>& overrides) {
  command
      ->add_option("--set", overrides,
                   "Override a field, for instance --set train.epochs=3; repeatable, the later wins")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

void add_checkpoint(CLI::App* command, std::string& checkpoint) {
  command
      ->add_option("CHECKPOINT", checkpoint,
                   "The folder of a checkpoint, or of a run: then its newest good one")
      ->required()
      ->type_name("");
}

// For "run --resume PATH": the spec of the run at PATH. In "run --resume job.yaml" the word after the option
// is the spec.
std::string spec_of_resumed_run(RunOptions& run) {
  if (!run.resume) throw CLI::RequiredError("SPEC");
  const std::string word = std::exchange(*run.resume, "auto");
  if (std::filesystem::is_regular_file(word)) return word;
  if (word != "auto") run.resume = word;
  if (word == "auto" && !run.run_directory) throw CLI::RequiredError("SPEC");
  const std::filesystem::path of =
      word == "auto" ? std::filesystem::path(*run.run_directory) : run_of_checkpoint(word);
  return (of / "spec.yaml").string();
}

CommandLine::CommandLine() {
  app.set_version_flag("--version", fmt::format("dtrain {} (LibTorch {})", kVersion, TORCH_VERSION),
                       "Print the versions of dtrain and LibTorch and exit");
  app.require_subcommand(0, 1);
  app.option_defaults()->disable_flag_override();  // otherwise --json=no would mean --json
  add_run();
  add_validate();
  add_plan();
  add_schema();
  add_inspect();
  add_eval();
  add_predict();
  add_export();
  add_compare();
  add_report();
  add_sweep();
  add_bench();
  add_doctor();
  add_completion();
  add_replica();
  // Set after the commands, which would inherit it otherwise.
  app.footer("Start with: dtrain run configs/mnist_mirrored.yaml\n\n" + exit_code_help());
}

void CommandLine::add_run() {
  CLI::App* command =
      app.add_subcommand("run", "Train: the baseline if the spec has one, then the job, compared");
  CLI::Option* spec =
      add_spec(command, run.spec.spec)
          ->required(false)
          ->description("The job spec (YAML); with --resume PATH it may be left out: then the run's own");
  add_overrides(command, run.spec.overrides);
  command->add_option("--run-dir", run.run_directory, "Folder of the run (default: runs/<name>-<time>)")
      ->type_name("DIR");
  CLI::Option* overwrite =
      command->add_flag("--overwrite", run.overwrite, "Replace the run that --run-dir holds");
  command
      ->add_option(
          "--resume", run.resume,
          "Resume from a checkpoint: auto (the newest good one of --run-dir or of the job's newest run), "
          "or the folder of a run or of a checkpoint")
      ->expected(0, 1)
      ->default_str("auto")
      ->type_name("[auto|PATH]")
      ->excludes(overwrite);
  command
      ->add_option("--inspect-step", run.inspect_step,
                   "Show update N replica by replica, and check that they agree (--set metrics.inspect_step)")
      ->type_name("N");
  command->add_flag("--quiet", run.quiet, "Print only the comparison and failures");
  command->add_flag("--json", run.json, "Print every event as a line of JSON instead");
  command->footer(kSignals + exit_code_help());
  command->callback([this, spec] {
    if (spec->empty()) run.spec.spec = spec_of_resumed_run(run);
    if (run.run_directory && run.run_directory->empty())
      throw CLI::ValidationError("--run-dir needs the name of a folder");
    if (run.overwrite && !run.run_directory) {
      throw CLI::ValidationError("--overwrite needs --run-dir: without it every run gets a new folder");
    }
    if (run.inspect_step) run.spec.overrides.push_back("metrics.inspect_step=" + *run.inspect_step);
    output_is_progress = true;
    action = [this] { return run_command(run); };
  });
}

void CommandLine::add_validate() {
  CLI::App* command = app.add_subcommand("validate", "Check specs and list every problem; starts nothing");
  command->add_option("SPEC", specs, "The job specs (YAML)")->required()->type_name("");
  add_overrides(command, overrides);
  command->add_flag("--json", json, "Print the problems as JSON");
  command->callback([this] { action = [this] { return validate_command(specs, overrides, json); }; });
}

void CommandLine::add_plan() {
  CLI::App* command = app.add_subcommand(
      "plan", "Show every resolved number: batches, learning rate, steps, parameters; starts nothing");
  CLI::Option* spec = add_spec(command, plan.spec.spec)->required(false);
  add_overrides(command, plan.spec.overrides);
  CLI::Option* json = command->add_flag("--json", plan.json, "Print the plan as JSON");
  command
      ->add_option("--plot-lr", plan.plot_learning_rate,
                   "Only draw the learning rate of the distributed run: on the terminal, or to a file (.svg)")
      ->expected(0, 1)
      ->default_str("")
      ->type_name("[FILE]")
      ->excludes(json);
  command->callback([this, spec] {
    std::optional<std::string>& plot = plan.plot_learning_rate;
    // In "plan --plot-lr job.yaml" the word after the option is the spec, if no other word is.
    if (spec->empty()) {
      if (!plot || plot->empty()) throw CLI::RequiredError("SPEC");
      plan.spec.spec = std::exchange(*plot, "");
    }
    if (plot && !plot->empty() && std::filesystem::path(*plot).extension() != ".svg")
      throw CLI::ValidationError(
          fmt::format("--plot-lr writes SVG: {} should end in .svg", printable(*plot)));
    action = [this] { return plan_command(plan); };
  });
}

void CommandLine::add_schema() {
  CLI::App* command = app.add_subcommand("schema", "Print the JSON Schema of job specs, for editors");
  CLI::Option* reference =
      command->add_flag("--markdown", markdown, "Print the reference (docs/spec.md) instead");
  command->add_flag("--events", events, "Print the tables of the events (in docs/metrics.md) instead")
      ->excludes(reference);
  command->callback([this] { action = [this] { return schema_command(markdown, events); }; });
}

void CommandLine::add_inspect() {
  CLI::App* command =
      app.add_subcommand("inspect", "List what is in a checkpoint and verify every bit of it");
  command->add_option("CHECKPOINT", checkpoint, "Folder of a checkpoint, of several checkpoints, or of a run")
      ->required()
      ->type_name("");
  command->add_flag("--json", json, "Print the same as JSON");
  command->footer(
      exit_code_help({{ExitCode::kDone, "everything is as it was saved"},
                      {ExitCode::kCheckpoint, "something is damaged, or there is no checkpoint"}}));
  command->callback([this] { action = [this] { return inspect_command(checkpoint, json); }; });
}

void CommandLine::add_eval() {
  CLI::App* command = app.add_subcommand(
      "eval", "Evaluate a checkpoint on the test examples: accuracy of each class, confusion matrix");
  CLI::App* replica = app.add_subcommand("eval-replica", "One replica process; started by dtrain eval");
  replica->group("");  // hidden
  for (CLI::App* one : {command, replica}) {
    add_checkpoint(one, eval.checkpoint);
    add_overrides(one, eval.overrides);
  }
  command->add_option("--data", eval.data, "The folder of the dataset (--set data.path)")->type_name("DIR");
  command->add_option("--replicas", eval.replicas, "Processes that share the examples (default: 1)")
      ->check(CLI::Range(int64_t{1}, kMaxEvaluationReplicas))
      ->type_name("N");
  command->add_flag("--json", eval.json, "Print the same as JSON");
  command->footer(exit_code_help());
  command->callback([this] { action = [this] { return eval_command(eval); }; });
  replica->callback([this] { action = [this] { return eval_replica_command(eval); }; });
}

void CommandLine::add_predict() {
  CLI::App* command = app.add_subcommand("predict", "Classify images with a checkpoint's model");
  add_checkpoint(command, predict.checkpoint);
  command->add_option("FILE", predict.files, "PNG, JPEG, PGM or PPM images, or IDX files of many")
      ->required()
      ->type_name("");
  command->add_option("--top", predict.top, "How many classes to show, the most probable first (default: 3)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->type_name("K");
  command->add_flag("--resize", predict.resize, "Scale images to the size that the model takes");
  command->add_flag("--json", predict.json, "Print a line of JSON for each image instead");
  command->footer(
      exit_code_help({{ExitCode::kDone, "done"},
                      {ExitCode::kData, "a file is not an image that the model takes (others are predicted)"},
                      {ExitCode::kCheckpoint, "no usable checkpoint"}}));
  command->callback([this] { action = [this] { return predict_command(predict); }; });
}

void CommandLine::add_export() {
  CLI::App* command = app.add_subcommand("export", "Write a checkpoint's model for other programs");
  add_checkpoint(command, exported.checkpoint);
  command
      ->add_option("--format", exported.format,
                   "safetensors (default), or onnx or torchscript, which take pixels of 0 to 255")
      ->check(CLI::IsMember({"safetensors", "onnx", "torchscript"}))
      ->type_name("FORMAT");
  command
      ->add_option("--out", exported.out,
                   "The file (default: NAME.FORMAT in this folder, NAME.pt for torchscript)")
      ->type_name("FILE");
  command->add_flag("--uint8", exported.uint8, "onnx: the model takes pixels as bytes");
  command->add_flag("--softmax", exported.softmax, "onnx, torchscript: it gives probabilities");
  command->add_flag("--overwrite", exported.overwrite, "Replace the file if it is there");
  command->footer(exit_code_help());
  command->callback([this] { action = [this] { return export_command(exported); }; });
}

void CommandLine::add_compare() {
  CLI::App* command = app.add_subcommand(
      "compare", "Compare runs: what differs in their specs, speed, accuracy, time to accuracy");
  command->add_option("RUN", compare.runs, "The folders of two runs or more; the first is the reference")
      ->required()
      ->expected(2, 26)
      ->type_name("");
  command
      ->add_option("--max-regression", compare.max_regression,
                   "Exit with 8 when a run is worse than the first by more than this many percent")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("PERCENT");
  command->add_flag("--json", compare.json, "Print the same as JSON");
  command->footer(exit_code_help({{ExitCode::kDone, "done"},
                                  {ExitCode::kUsage, "no such run"},
                                  {ExitCode::kRegression, "a run is worse than --max-regression allows"}}));
  command->callback([this] { action = [this] { return compare_command(compare); }; });
}

void CommandLine::add_report() {
  CLI::App* command = app.add_subcommand(
      "report",
      "Make one HTML page of runs, or of a sweep: curves, mistakes, where time goes, environment, spec");
  command->add_option("RUN", report.runs, "The folders of one run or more, or of a sweep")
      ->required()
      ->expected(1, static_cast<int>(kMostReported))
      ->type_name("");
  command->add_option("--output", report.output, "The file (default: report.html in this folder)")
      ->type_name("FILE");
  command->add_flag("--no-mistakes", report.without_mistakes, "Do not predict the test examples for it");
  command->add_flag("--overwrite", report.overwrite, "Replace the file if it is there");
  command->footer(exit_code_help(
      {{ExitCode::kDone, "done"}, {ExitCode::kUsage, "no such run, or the file is there already"}}));
  command->callback([this] { action = [this] { return report_command(report); }; });
}

void CommandLine::add_completion() {
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script: eval \"$(dtrain completion bash)\"");
  command->add_option("SHELL", shell, join(completion_shells()))->required()->type_name("");
  command->callback([this] {
    action = [this] {
      std::cout << completion_script(app, shell);
      return ExitCode::kDone;
    };
  });
}

void add_bench_options(CLI::App* command, BenchOptions& bench) {
  command->add_option("--communication", bench.communication, "Kinds of groups (default: gloo,shared_memory)")
      ->type_name("LIST");
  command
      ->add_option("--sizes", bench.sizes,
                   "Sizes of the tensor, for instance 8B,1MB or 8B..100MB:4 (default: 100B..100MB, times 10)")
      ->type_name("SIZES");
  command
      ->add_option("--iterations", bench.iterations,
                   "Timed iterations of each size (default: 10 to 200, by the size)")
      ->type_name("N");
  command->add_option("--dtype", bench.dtype, "Type of the elements (default: float32)")->type_name("TYPE");
}

void CommandLine::add_sweep() {
  CLI::App* command = app.add_subcommand(
      "sweep",
      "Time the job with several numbers of replicas and batch sizes: a table, CSV, JSON and a chart");
  add_spec(command, sweep.spec.spec);
  const auto add_list = [&](const std::string& name, std::vector<int64_t>& values, const std::string& help,
                            int64_t most) {
    return command->add_option(name, values, help)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(int64_t{1}, most))
        ->type_name("N,N,...");
  };
  add_list("--replicas", sweep.replicas, "Numbers of replicas, such as 1,2,4", 1024)->required();
  add_list("--batch", sweep.batches,
           "Batch sizes, per replica (weak) or global (strong); default: the spec's", 1'000'000'000);
  command
      ->add_option("--mode", sweep.mode,
                   "weak: the batch of each replica is constant (default); strong: the global batch is")
      ->check(CLI::IsMember({"weak", "strong"}))
      ->type_name("MODE");
  command
      ->add_option("--repeats", sweep.repeats, "Runs of each point, of which the median is used (default: 3)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_option("--steps", sweep.steps, "Timed steps of each run (default: 300)")
      ->check(CLI::Range(1, 1'000'000'000))
      ->type_name("N");
  command
      ->add_option("--out", sweep.out,
                   "New or empty folder for the results (default: runs/<name>-sweep-<time>)")
      ->type_name("DIR");
  add_overrides(command, sweep.spec.overrides);
  command->add_flag("--quiet", sweep.quiet, "Print only the table");
  command->add_flag("--json", sweep.json, "Print sweep.json instead of the table");
  command->footer(
      "When points fail, the exit code is that of the first one; the others are still measured.\n" +
      exit_code_help());
  command->callback([this] {
    output_is_progress = true;
    action = [this] { return sweep_command(sweep); };
  });
}

void CommandLine::add_bench() {
  CLI::App* command = app.add_subcommand(
      "bench", "Measure how fast replicas on this machine sum tensors; every sum is checked");
  command->add_option("BENCHMARK", benchmark, "allreduce")->required()->type_name("");
  command->add_option("--replicas", bench.replicas, "Processes (default: 2)")->type_name("N");
  add_bench_options(command, bench);
  command->add_flag("--json", bench.json, "Print every row as a line of JSON instead");
  command->footer(
      exit_code_help({{ExitCode::kDone, "every sum was exact"}, {ExitCode::kBug, "a sum was wrong"}}));
  command->callback([this] {
    if (benchmark != "allreduce") {
      throw CLI::ValidationError(
          fmt::format("unknown benchmark '{}' (known: allreduce)", printable(benchmark)));
    }
    action = [this] { return bench_command(bench); };
  });
  CLI::App* replica = app.add_subcommand("bench-replica", "One replica process; started by dtrain bench");
  replica->group("");  // hidden
  add_bench_options(replica, bench);
  replica->callback([this] { action = [this] { return bench_replica_command(bench); }; });
}

void CommandLine::add_doctor() {
  CLI::App* command =
      app.add_subcommand("doctor", "Check this host, or the hosts of a job, and say what to fix");
  CLI::App* host = app.add_subcommand("doctor-host", "One host's part; started by dtrain doctor");
  host->group("");  // hidden
  for (CLI::App* one : {command, host}) {
    one->add_option("--hosts", doctor.hosts, "Hosts to check by ssh, and between each other; the first leads")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("A,B,...");
    one->add_option("--port", doctor.port, "The job's network.port (default: 29400)")
        ->check(CLI::Range(1, 65535))
        ->type_name("PORT");
  }
  command->add_option("--program", doctor.program, "dtrain on the hosts (default: the path of this one)")
      ->type_name("PATH");
  command->add_option("--ssh-config", doctor.ssh_configuration, "A configuration for ssh (ssh -F)")
      ->type_name("FILE");
  command->add_flag("--json", doctor.json, "Print every finding as a line of JSON instead");
  command->footer(
      exit_code_help({{ExitCode::kDone, "all is well"}, {ExitCode::kUsage, "there is something to fix"}}));
  command->callback([this] { action = [this] { return doctor_command(doctor); }; });
  host->add_option("--index", doctor.index)->required();
  host->callback([this] { action = [this] { return doctor_host_command(doctor); }; });
}

void CommandLine::add_replica() {
  CLI::App* command = app.add_subcommand("replica", "One replica process; started by dtrain run");
  command->group("");  // hidden
  command->add_option("PLAN", replica.plan)->required();
  command->add_option("--run", replica.run)->required();
  command->add_option("--folder", replica.folder);
  command->add_flag("--resume", replica.resumes);
  command->add_option("--checkpoint", replica.checkpoint);
  command->callback([this] { action = [this] { return replica_command(replica); }; });
}

// Checks that the output was written. A command that failed has already reported that.
void require_written(ExitCode code) {
  if (code == ExitCode::kDone && !std::cout.flush())
    throw Error(output_failure_code(), "cannot write to the standard output");
}

ExitCode parse_and_run(int argc, char** argv) {
  CommandLine line;
  if (const auto problem = unknown_command(line.app, argc, argv)) throw Error(ExitCode::kUsage, *problem);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    line.app.exit(success);
    require_written(ExitCode::kDone);
    return ExitCode::kDone;
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::kUsage, usage_error(line.app, error));
  }
  if (!line.action) {
    std::cerr << line.app.help();
    return ExitCode::kUsage;
  }
  const ExitCode code = line.action();
  if (!line.output_is_progress) require_written(code);
  return code;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  occupy_standard_streams();
  keep_freed_memory();
  ExitCode code = ExitCode::kBug;
  try {
    code = parse_and_run(argc, argv);
  } catch (...) {
    const Failure failure = describe_current_exception();
    code = failure.code;
    report_failure("dtrain: " + failure.message, std::cerr);
    if (code == ExitCode::kBug)
      std::cerr << "This is a bug in dtrain; please report it with the spec." << std::endl;
  }
  return static_cast<int>(code);
}

}  // namespace dtrain
