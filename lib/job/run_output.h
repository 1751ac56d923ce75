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
#include "job/restarts.h"
#include "metrics/jsonl.h"
#include "plan/job_plan.h"
#include "runs/comparison.h"
#include "runs/run_directory.h"
#include "train/resume.h"

namespace dtrain {

// How a job was asked to present itself.
struct OutputOptions {
  RunDirectoryOptions directory;
  std::optional<std::string> resume;  // "auto", or a path: see find_resume_point()
  ConsoleOptions console;
  // Takes a line for people that is no part of the output: standard error.
  std::function<void(const std::string& line)> say = [](const std::string&) {};
};

class RunOutput : public EventSink {
 public:
  // Makes the run's folder and writes the resolved spec into it. With `from`, the folder is the one of the
  // run that saved the checkpoint, unless the options name another, and its metrics go back to that moment.
  // Throws Error(kUsage, kDisk).
  RunOutput(const JobPlan& job, const OutputOptions& options, std::ostream& out,
            const ResumePoint* from = nullptr);

  // Throws Error(kUsage, kDisk) when the metrics cannot be written. What `out` cannot take any more is
  // dropped, which a warning among the metrics and a line by `options.say` tell once: nobody trains for the
  // sake of the lines.
  void on_event(const Event& event) override;
  void on_tick() override { console_.on_tick(); }

  // A line beside the output (options.say), which leaves the progress line whole.
  void say(const std::string& line);

  // The distributed run has lost a process and goes on from `from` (nullptr: from its beginning): what was
  // written of it since then goes, and a `restart` event says why.
  void restart(const FailedAttempt& failed, double wait_seconds, const ResumePoint* from);

  // Every run has ended well: compares the distributed run with its baseline, if there was one, and writes
  // summary.json.
  void finish(const JobPlan& job);
  // The job ended before that, while it did (or was about to do) `run`: ends the run, even one that had not
  // started, and writes summary.json, as far as they can be written.
  void fail(const RunPlan& run, const std::string& status, ExitCode code, const std::string& message);

  const RunDirectory& directory() const { return directory_; }
  bool is_complete(const RunPlan& run) const { return summaries_.of(run.name()).status == "completed"; }
  // The optimizer step of the last checkpoint; -1: there is none.
  int64_t checkpoint_step() const { return checkpoint_step_; }
  // Whether this job has saved it; what lay there before is not the job's, nor counts what is suspect.
  bool has_saved(const SavedCheckpoint& checkpoint) const;
  // Takes note of what is on the disk though nobody said so: rank 0 may die before it can.
  void look_for_checkpoints();
  // Whether one came after it whose variables may be corrupt.
  bool last_is_suspect() const { return last_is_suspect_; }
  const Event& summary() const { return summaries_.document(); }

 private:
  void record(const Event& event);
  void warn(const std::string& text);  // among the events
  void go_on_from(const ResumePoint& from);
  RunEndEvent with_restarts(RunEndEvent end) const;
  void note_lost_output();
  void write_summary();

  std::ostream& out_;
  std::function<void(const std::string&)> say_;
  bool output_lost_ = false;
  RunDirectory directory_;
  SummaryCollector summaries_;
  std::optional<JsonLinesFile> file_;  // opened after a run that goes on was taken back
  Console console_;
  std::optional<double> overhead_;
  int64_t checkpoint_step_ = -1;
  std::map<std::filesystem::path, std::filesystem::file_time_type> there_before_;  // checkpoints
  RestartTally restarts_;
  bool last_is_suspect_ = false;
};

// Finds what options.resume resumes from; nullopt if the options do not ask for it. Throws Error(kCheckpoint)
// if there is no good checkpoint or it is of another model, Error(kUsage) if the job cannot resume from it.
std::optional<ResumePoint> resume_point(const JobPlan& job, const OutputOptions& options);

// A line with the command that goes on from the last checkpoint; empty when there is none.
std::string go_on_message(const RunOutput& output);

// `reason` ("stopped by SIGINT"), where the job stands, and the command that goes on. `saved`: the last
// checkpoint was made for the stop.
std::string stopped_message(const std::string& reason, const RunOutput& output, bool saved);

}  // namespace dtrain
