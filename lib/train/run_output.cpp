#include "train/run_output.h"

#include <fmt/format.h>

#include "checkpoint/retention.h"
#include "core/files.h"
#include "core/text.h"
#include "metrics/rewind.h"
#include "train/callbacks.h"

namespace dtrain {
namespace {

// Whether the run goes on in the folder that it had.
bool goes_on_there(const RunDirectoryOptions& options, const ResumePoint& from) {
  std::error_code there_is_none;
  return !options.directory || std::filesystem::equivalent(*options.directory, from.run, there_is_none);
}

RunDirectory make_directory(const JobPlan& job, const RunDirectoryOptions& options, const ResumePoint* from) {
  const bool reopen = from != nullptr && goes_on_there(options, *from);
  RunDirectory directory = reopen ? RunDirectory::reopen(from->run) : RunDirectory::create(options);
  if (!reopen) {
    remove_all_checkpoints(checkpoint_folder(directory.path()));
    remove_files_of_callbacks(directory.path());
  }
  write_file_atomically(directory.spec_file(), print_spec(job.spec));
  return directory;
}

// Of what stays in the metrics of a run that goes on.
SummaryCollector summaries_until(const RunDirectory& directory, const ResumePoint* from) {
  SummaryCollector summaries;
  if (from != nullptr) {
    rewind_metrics(directory.metrics_file(), from->state.epoch, from->state.step,
                   [&](const Event& event) { summaries.on_event(event); });
  }
  return summaries;
}

}  // namespace

RunOutput::RunOutput(const JobPlan& job, const OutputOptions& options, std::ostream& out,
                     const ResumePoint* from)
    : out_(out),
      say_(options.say),
      directory_(make_directory(job, directory_options(job, options), from)),
      summaries_(summaries_until(directory_, from)),
      file_(directory_.metrics_file()),
      console_(out, options.console) {
  if (from == nullptr) return;
  checkpoint_step_ = from->state.step;
  for (const std::string& warning : from->warnings) {
    Event event = make_event("warning", "distributed");
    event["text"] = warning;
    record(event);
  }
}

void RunOutput::on_event(const Event& event) {
  const std::string kind = text_at(event, "event").value_or("");
  if (kind == "overhead") {  // a number for the comparison, not a run that the user asked for
    overhead_ = number_at(event, "overhead");
    return;
  }
  if (kind == "checkpoint") checkpoint_step_ = integer_at(event, "step").value_or(checkpoint_step_);
  record(event);
  note_lost_output();
}

void RunOutput::say(const std::string& line) {
  console_.clear_progress();
  say_(line);
}

void RunOutput::finish(const JobPlan& job) {
  // A run that goes on may be without: it was never made.
  if (job.spec.compare.baseline != "none" && summaries_.of("baseline").status == "completed") {
    record(
        comparison_event(compare_runs(summaries_.of("baseline"), summaries_.of("distributed"), overhead_)));
  }
  write_summary();
  note_lost_output();
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

// The stream stays in its state of failure, so that what comes later is dropped without another attempt.
void RunOutput::note_lost_output() {
  if (out_ || output_lost_) return;
  output_lost_ = true;
  const std::string text =
      "standard output cannot be written any more (its reader is gone, or the disk is full): the job goes on "
      "without, and everything is in " +
      directory_.metrics_file().string();
  Event event = make_event("warning", "distributed");
  event["text"] = text;
  record(event);
  say(text);
}

RunDirectoryOptions directory_options(const JobPlan& job, const OutputOptions& options) {
  RunDirectoryOptions directory = options.directory;
  directory.name = job.spec.name;
  return directory;
}

std::string stopped_message(const std::string& reason, const RunOutput& output, bool saved) {
  if (output.checkpoint_step() < 0) return reason;
  return fmt::format("{}{} step {}\nto go on: {}", reason, saved ? " after" : "; the last checkpoint is of",
                     with_separators(output.checkpoint_step()), resume_command(output.directory().path()));
}

void RunOutput::write_summary() { directory_.write_summary(summaries_.document()); }

}  // namespace dtrain
