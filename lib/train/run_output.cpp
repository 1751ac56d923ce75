#include "train/run_output.h"

#include "core/files.h"

namespace dtrain {
namespace {

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
  const std::string run = text_at(event, "run").value_or("");
  const std::string kind = text_at(event, "event").value_or("");
  if (kind == "overhead") {  // a number for the comparison, not a run that the user asked for
    overhead_ = number_at(event, "overhead");
    return;
  }
  summaries_.on_event(event);
  if (kind == "run_start") open_run_ = run;
  if (kind == "run_end") open_run_.clear();
  file_.on_event(event);
  console_.on_event(event);
}

void RunOutput::finish(const JobPlan& job) {
  if (job.spec.compare.baseline != "none") {
    on_event(
        comparison_event(compare_runs(summaries_.of("baseline"), summaries_.of("distributed"), overhead_)));
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
