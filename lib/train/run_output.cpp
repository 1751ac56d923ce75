#include "train/run_output.h"

#include "core/files.h"

namespace dtrain {
namespace {

// A measurement for the comparison, not a run that the user asked for: of its events only the result is of
// interest.
constexpr const char* kOverheadRun = "overhead";

RunDirectory make_directory(const JobPlan& job, RunDirectoryOptions options) {
  options.name = job.spec.name;
  RunDirectory directory = RunDirectory::create(options);
  write_file_atomically(directory.spec_file(), print_spec(job.spec));
  return directory;
}

}  // namespace

RunOutput::RunOutput(const JobPlan& job, const OutputOptions& options, std::ostream& out)
    : directory_(make_directory(job, options.directory)),
      file_(directory_.metrics_file()),
      console_(out, options.console) {}

void RunOutput::on_event(const Event& event) {
  summaries_.on_event(event);
  const std::string run = text_at(event, "run").value_or("");
  if (run == kOverheadRun) return;
  const std::string kind = text_at(event, "event").value_or("");
  if (kind == "run_start") open_run_ = run;
  if (kind == "run_end") open_run_.clear();
  file_.on_event(event);
  console_.on_event(event);
}

void RunOutput::finish(const JobPlan& job) {
  if (job.spec.compare.baseline != "none") {
    on_event(comparison_event(compare_runs(summaries_.of("baseline"), summaries_.of("distributed"),
                                           summaries_.of(kOverheadRun).step_ms)));
  }
  write_summary();
}

void RunOutput::fail(const std::string& status, ExitCode code, const std::string& message) {
  console_.clear_progress();
  if (!open_run_.empty()) {
    Event end = make_event("run_end", open_run_);
    end["status"] = status;
    end["exit_code"] = static_cast<int>(code);
    end["error"] = message;
    on_event(end);
  }
  write_summary();
}

void RunOutput::write_summary() { directory_.write_summary(summaries_.document()); }

}  // namespace dtrain
