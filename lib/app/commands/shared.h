// What several commands do: reporting problems and errors on standard error, opening a checkpoint, preparing
// data, making room for their files, and checking whether a job can run on this host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "inference/find_checkpoint.h"
#include "job_file/overrides.h"
#include "plan/job_plan.h"
#include "yaml/problem.h"

namespace dtrain {

// Prints one line for each problem, then the number of problems. Returns kUsage, with which a command ends.
ExitCode report_problems(const std::vector<Problem>& problems);

// Prints a line "NOTE: ..." for each note, "WARNING: ..." for each warning.
void report_notes(const std::vector<std::string>& notes);
void report_warnings(const std::vector<std::string>& warnings);

// Prints an error's message, which may have several lines: on a terminal in red, unless it was `expected`.
// Escapes control characters, because the message may contain file names and similar text.
void report_failure(const std::string& message, bool expected = false);

// The bytes that the value says, such as 500MB: 1 to `most`, in words `most_text`. Throws Error(kUsage).
int64_t parse_size(const std::string& option, const std::string& text, int64_t most,
                   const std::string& most_text);

// Throws Error(kUsage) if the folder is missing, or if there is a file that is no page of dtrain, which
// `overwrite` allows to replace. `by` is the command that asks.
void require_own_page(const std::filesystem::path& file, bool overwrite, const std::string& by);

// Makes the folder `out`, or runs/NAME-TIME with `ending` after the name. Throws Error(kUsage) if it is there
// and not empty.
std::filesystem::path make_empty_folder(const std::optional<std::string>& out, const std::string& name,
                                        const std::string& ending);

struct CheckpointJob {
  ResumePoint point;
  JobPlan job;
};

// Finds the checkpoint and plans its job, for the data that `look` describes (find_dataset or
// describe_dataset). Reports on standard error; nullopt: the job has problems. Throws as find_checkpoint()
// and job_of_checkpoint() do.
std::optional<CheckpointJob> open_checkpoint(const CheckpointChoice& choice, const Overrides& overrides,
                                             DatasetInfo (*look)(const DataSpec&));

// How far work on many things is, on standard error: a line that changes on a terminal and goes with this
// object, elsewhere one line if it takes long.
class CountingLine {
 public:
  // `what`: "checking pictures". A `quiet` one shows nothing.
  explicit CountingLine(std::string what, bool quiet = false);
  ~CountingLine();
  CountingLine(CountingLine&&) = delete;  // nor copied

  OnPrepared progress();  // what shows it; lives as long as this

 private:
  void show(int64_t done, int64_t all);

  const std::string what_;
  const bool quiet_;
  const bool on_terminal_;
  const double begin_;
  double next_;
  bool drawn_ = false;
  bool told_ = false;
};

// prepare_dataset(), with its progress. `quiet`: shows nothing. Returns whether find_dataset() now knows more
// than `data`: the job has to be planned again.
bool prepare_data(const DatasetInfo& data, const DataSpec& spec, bool quiet);

// Measures what the spec wants measured of the training pictures, and puts the numbers in their place.
// Reads all of these pictures, which prepare_data() has made quick. Nothing without such a wish.
void measure_data(const DatasetInfo& data, JobSpec& job, bool quiet);

// Throws Error(kPeerLost) if the replicas of one host are to meet through sockets and cannot.
void require_loopback(const JobPlan& job);

// Notes for the user: a device, a plugin or a network that is not there.
std::vector<std::string> missing_on_host(const JobPlan& job);
// The problem with the initial weights: missing, or they do not fit. nullopt: none, or no such weights.
std::optional<std::string> weights_problem(const JobPlan& job);
// All of these as notes.
std::vector<std::string> obstacles(const JobPlan& job);

}  // namespace dtrain
