// Where a job's events go: its folder, the terminal and the summary.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "core/error.h"
#include "metrics/comparison.h"
#include "metrics/console.h"
#include "metrics/jsonl.h"
#include "metrics/run_directory.h"
#include "train/job_plan.h"

namespace dtrain {

// How a job was asked to present itself.
struct OutputOptions {
  RunDirectoryOptions directory;
  ConsoleOptions console;
};

class RunOutput : public EventSink {
 public:
  // Makes the run's folder and writes the resolved spec into it. Throws Error(kUsage).
  RunOutput(const JobPlan& job, const OutputOptions& options, std::ostream& out);

  // Throws Error(kUsage) when the metrics or `out` cannot be written: a job that nobody hears of ends.
  void on_event(const Event& event) override;
  void on_tick() override { console_.on_tick(); }

  // Every run has ended well: compares the distributed run with its baseline, if there was one, and writes
  // summary.json.
  void finish(const JobPlan& job);
  // The job ended before that, while it did (or was about to do) `run`: ends the run, even one that had not
  // started, and writes summary.json, as far as they can be written.
  void fail(const RunPlan& run, const std::string& status, ExitCode code, const std::string& message);

  const RunDirectory& directory() const { return directory_; }
  const Event& summary() const { return summaries_.document(); }

 private:
  void record(const Event& event);
  void check_output() const;
  void write_summary();

  std::ostream& out_;
  RunDirectory directory_;
  JsonLinesFile file_;
  Console console_;
  SummaryCollector summaries_;
  std::optional<double> overhead_;
};

}  // namespace dtrain
