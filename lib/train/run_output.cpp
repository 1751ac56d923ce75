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
    : out_(out),
      directory_(make_directory(job, options.directory)),
      file_(directory_.metrics_file()),
      console_(out, options.console) {}

void RunOutput::on_event(const Event& event) {
  const std::string kind = text_at(event, "event").value_or("");
  if (kind == "overhead") {  // a number for the comparison, not a run that the user asked for
    overhead_ = number_at(event, "overhead");
    return;
  }
  record(event);
  check_output();
}

void RunOutput::finish(const JobPlan& job) {
  if (job.spec.compare.baseline != "none") {
    record(
        comparison_event(compare_runs(summaries_.of("baseline"), summaries_.of("distributed"), overhead_)));
  }
  write_summary();
  check_output();
}

void RunOutput::fail(const RunPlan& run, const std::string& status, ExitCode code,
                     const std::string& message) {
  console_.clear_progress();
  // To the user the measurement of the overhead is part of the distributed run.
  Event end = make_event("run_end", run.run == "overhead" ? "distributed" : run.run);
  end["status"] = status;
  end["exit_code"] = static_cast<int>(code);
  end["error"] = message;
  try {
    record(end);
    write_summary();
  } catch (const Error&) {  // what cannot be written may be the very reason
  }
}

void RunOutput::record(const Event& event) {
  summaries_.on_event(event);
  file_.on_event(event);
  console_.on_event(event);
}

void RunOutput::check_output() const {
  if (out_) return;
  throw Error(
      ExitCode::kUsage,
      "standard output cannot be written any more (its reader is gone, or the disk is full); everything "
      "is in " +
          directory_.metrics_file().string() + ", and --quiet prints next to nothing");
}

void RunOutput::write_summary() { directory_.write_summary(summaries_.document()); }

}  // namespace dtrain
