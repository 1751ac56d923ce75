// Where a job's events go: its folder, the terminal and the summary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>

#include "checkpoint/retention.h"
#include "core/error.h"
#include "display/console.h"
#include "host/machine.h"
#include "initial_state/resume.h"
#include "job/restarts.h"
#include "metrics/jsonl.h"
#include "plan/job_plan.h"
#include "runs/comparison.h"
#include "runs/run_directory.h"

namespace dtrain {

// The options of a job's output.
struct OutputOptions {
  RunDirectoryOptions directory;
  std::optional<std::string> resume;  // "auto", or a path: see find_resume_point()
  ConsoleOptions console;
  double machine_seconds = 5;  // between `machine` events
  // Shows a line for people that is not part of the output, for instance on standard error.
  std::function<void(const std::string& line)> say = [](const std::string&) {};
};

class RunOutput : public EventSink {
 public:
  // Makes the run's folder and writes the resolved spec into it. With `from`, it uses the folder of the run
  // that saved the checkpoint, unless the options name another one, and takes the metrics back to that
  // checkpoint. Throws Error(kUsage, kDisk).
  RunOutput(const JobPlan& job, const OutputOptions& options, std::ostream& out,
            const ResumePoint* from = nullptr);

  // Throws Error(kUsage, kDisk) if the metrics cannot be written. If `out` cannot be written any more, its
  // lines are dropped, and the job continues; the metrics and `options.say` report that once.
  void on_event(const Event& event) override;
  // Also looks at the machine when it is time for that.
  void on_tick() override;

  // A run of the job is about to start.
  void begin(const JobPlan& job, const RunPlan& run);

  // Shows a line beside the output (options.say) without breaking the progress line.
  void say(const std::string& line);

  // The distributed run has lost a process and resumes from `from` (nullptr: from its beginning). Removes
  // what was written since then, and adds a `restart` event with the reason.
  void restart(const FailedAttempt& failed, double wait_seconds, const ResumePoint* from);

  // Adds a warning about the distributed run to the events.
  void warn(const std::string& text);

  // Every run has completed: compares the distributed run with its baseline, if any, and writes summary.json.
  void finish(const JobPlan& job);
  // The job failed or was stopped during `run`, or before `run` started: writes the end of the run and
  // summary.json, as far as they can be written.
  void fail(const RunPlan& run, ExitCode code, const std::string& message);

  const RunDirectory& directory() const { return directory_; }
  bool is_complete(const RunPlan& run) const { return summaries_.of(run.name()).status == "completed"; }
  // The optimizer step of the last checkpoint; -1: there is none.
  int64_t checkpoint_step() const { return checkpoint_step_; }
  // Whether this job has saved the checkpoint: one that existed before, or is suspect, does not count.
  bool has_saved(const SavedCheckpoint& checkpoint) const;
  // Looks for checkpoints on the disk that no event has reported: rank 0 may die before it can.
  void look_for_checkpoints();
  // Whether a suspect checkpoint came after the last good one.
  bool last_is_suspect() const { return last_is_suspect_; }
  const Event& summary() const { return summaries_.document(); }

 private:
  void record(const Event& event);
  // Takes the metrics back to the checkpoint `from`, or if the run begins again (nullptr) to its beginning.
  void rewind(const ResumePoint* from);
  // Writes again what somebody has removed from the run's folder, as far as it can be, and says so.
  void keep_files();
  std::string next_commands(const JobPlan& job) const;
  void go_on_from(const ResumePoint& from);
  RunEndEvent with_restarts(RunEndEvent end) const;
  void note_lost_output();
  void write_summary();

  std::ostream& out_;
  std::function<void(const std::string&)> say_;
  bool output_lost_ = false;
  Console console_;
  std::string spec_;   // as it is in the folder
  int64_t last_step_;  // of the distributed run
  bool folder_lost_ = false;
  RunDirectory directory_;
  SummaryCollector summaries_;
  std::optional<JsonLinesFile> file_;  // opened after the metrics of a resumed run were taken back
  std::optional<RelativeCost> overhead_;
  int64_t checkpoint_step_ = -1;
  std::map<std::filesystem::path, std::filesystem::file_time_type> there_before_;  // checkpoints
  RestartTally restarts_;
  bool last_is_suspect_ = false;
  double machine_seconds_;  // between looks at the machine
  MachineWatch machine_;
  double started_ = steady_seconds();
  double looked_ = started_;
  std::string run_;  // name of the run under way
};

// Finds what options.resume resumes from. If the options ask for no resume, returns nullopt, and requires the
// weights that the spec names. Throws Error(kCheckpoint) if there is no good checkpoint, or it or the weights
// are of another model, Error(kUsage) if the job cannot resume from it.
std::optional<ResumePoint> resume_point(const JobPlan& job, const OutputOptions& options);

// For people, why nothing is left to train of a job that resumes `from` a checkpoint (nullptr: it does not
// resume): all steps are done, or early stopping has ended it; empty if something is.
std::string nothing_left(const JobPlan& job, const ResumePoint* from);

// "dtrain eval runs/mine", for a shell.
std::string command_on(const std::string& command, const std::filesystem::path& run);
// The command that resumes the run.
std::string resume_command(const std::filesystem::path& run);

// `reason` ("stopped by SIGINT"), how far the job came, and the command that resumes it, or that none can.
// `saved`: the last checkpoint was saved because of the stop.
std::string stopped_message(const std::string& reason, const RunOutput& output, bool saved);

}  // namespace dtrain
