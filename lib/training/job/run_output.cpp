#include "job/run_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "callbacks/callbacks.h"
#include "checkpoint/checkpoint.h"
#include "core/files.h"
#include "core/text.h"
#include "initial_state/warm_start.h"
#include "job/other_replicas.h"
#include "job/replica_process.h"
#include "job_file/print.h"
#include "models/layer_kinds.h"
#include "runs/finished_run.h"
#include "train/assembly.h"
#include "train/replica.h"

namespace dtrain {
namespace {

// The options with what the job says of them.
RunDirectoryOptions directory_options(const JobPlan& job, const OutputOptions& options) {
  RunDirectoryOptions directory = options.directory;
  directory.name = job.spec.name;
  directory.resumes = options.resume.has_value();
  return directory;
}

std::filesystem::file_time_type time_of(const std::filesystem::path& path) {
  std::error_code gone;
  return std::filesystem::last_write_time(path, gone);
}

// A folder that is not that of `from` begins with the best checkpoint until then, as the states of callbacks
// and later comparisons know of it. Later ones that the user has passed over go with their metrics.
RunDirectory make_directory(const std::string& spec, const RunDirectoryOptions& options,
                            const BestCheckpointSpec& best, const ResumePoint* from) {
  std::error_code there_is_none;
  const bool reopen =
      from != nullptr &&
      (!options.directory || std::filesystem::equivalent(*options.directory, from->run, there_is_none));
  RunDirectory directory = reopen ? RunDirectory::reopen(from->run) : RunDirectory::create(options);
  if (reopen) {
    std::filesystem::remove(directory.path() / "summary.json", there_is_none);  // of an end that goes
    if (from->warnings.empty()) hide_later_checkpoints(checkpoint_folder(directory.path()), from->state.step);
  } else {
    remove_all_checkpoints(checkpoint_folder(directory.path()));
    remove_files_of_callbacks(directory.path());
    if (from != nullptr)
      bring_checkpoints(from->checkpoint, from->state.step, checkpoint_folder(directory.path()), best);
  }
  const ResizeDesk leftovers(directory.path());  // removes those of a killed supervisor
  write_file_durably(directory.spec_file(), spec, "--run-dir");
  return directory;
}

// With what the job says of how its output is shown. `is_lost`: whether there is no checkpoint of a step.
ConsoleOptions console_options(const JobPlan& job, ConsoleOptions options,
                               std::function<bool(int64_t)> is_lost) {
  options.alone = job.runs.size() == 1 && job.distributed_run().processes() == 1;
  options.best = deciding_metric(job.spec);
  const CheckpointSpec& checkpoint = job.spec.checkpoint;
  if (checkpoint.saves() && !checkpoint.best.metric) options.is_lost = std::move(is_lost);
  return options;
}

// Of a run that has ended, with what would continue it; nullopt: this job may train on. Early stopping that
// returned to the best weights has no later checkpoint, whose state would tell.
std::optional<std::string> reason_to_end_early(const JobPlan& job, const ResumePoint& from) {
  if (const auto state = from.state.callbacks.find("early_stopping"); state != from.state.callbacks.end()) {
    NullSink nobody;
    const auto stopping = make_early_stopping({job, job.distributed_run(), from.run, nobody});
    stopping->restore(*state);
    if (const auto reason = stopping->reason_to_end())
      return *reason + "; more callbacks.early_stopping.patience";
  }
  const auto saved = list_checkpoints(from.checkpoint.parent_path());
  const bool is_newest = !saved.empty() && std::filesystem::equivalent(saved.back().path, from.checkpoint);
  if (is_newest && from.state.spec == print_spec(job.spec))
    return "its best weights were restored; more epochs or callbacks.early_stopping.patience";
  return std::nullopt;
}

}  // namespace

RunOutput::RunOutput(const JobPlan& job, const OutputOptions& options, std::ostream& out,
                     const ResumePoint* from)
    : out_(out),
      say_(options.say),
      console_(out, console_options(job, options.console,
                                    [this](int64_t step) {
                                      std::error_code none;
                                      const std::filesystem::path saved =
                                          checkpoint_folder(directory_.path()) / checkpoint_name(step);
                                      return !std::filesystem::exists(saved, none);
                                    })),
      spec_(print_spec(job.spec)),
      last_step_(job.distributed_run().total_steps),
      directory_(make_directory(spec_, directory_options(job, options), job.spec.checkpoint.best, from)),
      machine_seconds_(options.machine_seconds) {
  if (from != nullptr)
    rewind(from);
  else
    file_.emplace(directory_.metrics_file());
  for (const SavedCheckpoint& one : list_checkpoints(checkpoint_folder(directory_.path())))
    there_before_[one.path] = time_of(one.path);
  if (from == nullptr) return;
  go_on_from(*from);
  auto message = begin_event<MessageEvent>(name_of(RunKind::kDistributed));
  message.text = resume_text(job, *from);
  record(encode(message));
}

void RunOutput::rewind(const ResumePoint* from) {
  summaries_ = SummaryCollector();
  console_.forget();
  // Nothing of a run that begins again stays, not even that it began.
  const auto on_kept = [&](const Event& event) {
    summaries_.on_event(event);
    console_.remember(event);
  };
  // In an epoch that train.max_steps has cut, a run with nothing left to train evaluates again.
  const bool unevaluated = from != nullptr && (from->state.unevaluated ||
                                               (from->state.position > 0 && from->state.step == last_step_));
  const auto damaged = from == nullptr ? rewind_metrics(directory_.metrics_file(), -1, -1, on_kept)
                                       : rewind_metrics(directory_.metrics_file(), from->state.epoch,
                                                        from->state.step, on_kept, unevaluated);
  file_.emplace(directory_.metrics_file());
  if (damaged)
    warn(fmt::format("{} had lines that are no events; they are left out, and the old file is kept as {}",
                     directory_.metrics_file().string(), damaged->filename().string()));
}

// Logs that replicas hold open, earlier checkpoints and files of callbacks cannot be written again.
void RunOutput::keep_files() {
  if (folder_lost_ || !file_ || (file_->is_in_place() && directory_.is_in_place())) return;
  folder_lost_ = true;  // what cannot be written again now is not tried again
  directory_.make_again();
  write_file_atomically(directory_.spec_file(), spec_, "--run-dir");
  file_->write_again();
  folder_lost_ = false;
  if (list_checkpoints(checkpoint_folder(directory_.path())).empty()) checkpoint_step_ = -1;
  warn(fmt::format(
      "{}, or some of it, was removed or moved while the job runs; spec.yaml, metrics.jsonl and logs/ are "
      "there again, and what else was removed (logs until now, checkpoints) is lost",
      directory_.path().string()));
}

void RunOutput::begin(const JobPlan& job, const RunPlan& run) {
  run_ = name_of(run.traits().trains ? run.kind : RunKind::kDistributed);
  if (run.traits().trains) return;  // its first event says so
  auto event = begin_event<OverheadEvent>(run.name());
  event.step = 0;
  event.steps = overhead_steps(job, run);
  console_.on_event(encode(event));
}

bool RunOutput::has_saved(const SavedCheckpoint& checkpoint) const {
  const auto before = there_before_.find(checkpoint.path);
  return !checkpoint.suspect && (before == there_before_.end() || before->second != time_of(checkpoint.path));
}

void RunOutput::look_for_checkpoints() {
  try {
    for (const SavedCheckpoint& saved : list_checkpoints(checkpoint_folder(directory_.path())))
      if (has_saved(saved)) checkpoint_step_ = saved.step;  // by step: the last is the newest
  } catch (const Error&) {                                  // a folder that cannot be read tells nothing new
  }
}

void RunOutput::go_on_from(const ResumePoint& from) {
  checkpoint_step_ = from.state.step;
  for (const std::string& warning : from.warnings) warn(warning);
}

void RunOutput::restart(const FailedAttempt& failed, double wait_seconds, const ResumePoint* from) {
  restarts_.on_restart(from == nullptr ? 0 : from->state.step);
  console_.clear_progress();
  keep_files();
  file_.reset();
  rewind(from);
  // A checkpoint of another run, from which this one began, does not say how far the files here went.
  std::error_code unknown;
  const bool is_own = from == nullptr || std::filesystem::equivalent(run_of_checkpoint(from->checkpoint),
                                                                     directory_.path(), unknown);
  if (!is_own && !unknown) remove_files_of_callbacks(directory_.path());
  auto event = begin_event<RestartEvent>(name_of(RunKind::kDistributed));
  event.restart = restarts_.restarts();
  event.exit_code = static_cast<int>(failed.code);
  event.error = failed.error;
  if (failed.step > 0) event.failed_step = failed.step;
  event.step = from == nullptr ? 0 : from->state.step;
  event.wait_seconds = wait_seconds;
  record(encode(event));
  checkpoint_step_ = -1;
  if (from != nullptr) go_on_from(*from);
}

void RunOutput::on_tick() {
  console_.on_tick();
  const double now = steady_seconds();
  if (run_.empty() || now - looked_ < machine_seconds_) return;
  looked_ = now;
  const std::optional<MachineLoad> load = machine_.look();
  if (!load) return;
  auto event = begin_event<MachineEvent>(run_);
  event.seconds = now - started_;
  event.processors = load->processors;
  event.memory_bytes = load->memory_used;
  event.memory_total_bytes = load->memory_total;
  record(encode(event));
}

void RunOutput::on_event(const Event& event) {
  if (const auto measured = decode<OverheadEvent>(event)) {
    // For the comparison; not a run that the user asked for.
    if (measured->overhead) overhead_ = {*measured->overhead, measured->uncertainty.value_or(0)};
    console_.on_event(event);
    return;
  }
  run_ = place_of(event).run.value_or(run_);
  restarts_.on_event(event);
  if (const auto saved = decode<CheckpointEvent>(event)) {
    last_is_suspect_ = saved->suspicion.has_value();
    if (!last_is_suspect_) checkpoint_step_ = saved->step.value_or(checkpoint_step_);
  }
  const auto end = decode<RunEndEvent>(event);
  if (end) run_.clear();
  if (auto start = decode<RunStartEvent>(event)) {
    start->folder = std::filesystem::absolute(directory_.path()).lexically_normal().string();
    record(encode(*start));
  } else if (end && end->run == name_of(RunKind::kDistributed)) {
    record(encode(with_restarts(*end)));
  } else {
    record(event);
  }
  note_lost_output();
}

std::string command_on(const std::string& command, const std::filesystem::path& run) {
  return "dtrain " + command + " " + shell_word(run.string());
}

std::string resume_command(const std::filesystem::path& run) { return command_on("run --resume", run); }

// The run's folder, and what a user does with it.
std::string RunOutput::next_commands(const JobPlan& job) const {
  const std::filesystem::path& run = directory_.path();
  const auto& layers = job.model.layers;
  const bool has_onnx =
      std::ranges::all_of(layers, [](const PlacedLayer& layer) { return kind_of(layer).onnx != nullptr; });
  const std::string format = job.spec.model.has_file() ? "torchscript" : has_onnx ? "onnx" : "safetensors";
  std::vector<std::string> commands = {"report"};
  if (checkpoint_step_ >= 0) commands.push_back("export --format " + format);
  // A step of a plug-in computes its losses in a run only.
  if (checkpoint_step_ >= 0 && !objective_info(job.spec.train.loss.kind).is_step)
    commands.insert(commands.begin(), {"eval", "predict"});
  std::string text = fmt::format("The run is in {}. Next:\n", printable(run.string(), 1000));
  for (const std::string& command : commands)
    text += fmt::format("  {}{}\n", command_on(command, run), command == "predict" ? " FILE..." : "");
  return text;
}

void RunOutput::say(const std::string& line) {
  console_.clear_progress();
  say_(line);
}

// A run's end with what its restarts have cost.
RunEndEvent RunOutput::with_restarts(RunEndEvent end) const {
  if (restarts_.restarts() > 0) end.restart_cost = {restarts_.restarts(), restarts_.lost_seconds()};
  return end;
}

void RunOutput::finish(const JobPlan& job) {
  // A run that goes on may be without: it was never made.
  if (job.spec.compare.baseline != "none" &&
      summaries_.of(name_of(RunKind::kBaseline)).status == "completed") {
    record(encode(compare_runs(summaries_.of(name_of(RunKind::kBaseline)),
                               summaries_.of(name_of(RunKind::kDistributed)), overhead_)));
  }
  write_summary();
  console_.on_job_end(next_commands(job));
  note_lost_output();
}

void RunOutput::fail(const RunPlan& run, ExitCode code, const std::string& message) {
  console_.clear_progress();
  // To the user the measurement of the overhead is part of the distributed run.
  auto end = begin_event<RunEndEvent>(name_of(run.traits().trains ? run.kind : RunKind::kDistributed));
  end.status = code == ExitCode::kStopped ? "stopped" : "failed";
  end.exit_code = static_cast<int>(code);
  end.error = message;
  try {
    record(encode(with_restarts(end)));
    write_summary();
  } catch (const Error&) {  // what cannot be written may be the very reason
  }
}

void RunOutput::warn(const std::string& text) { record(warning_event(name_of(RunKind::kDistributed), text)); }

void RunOutput::record(const Event& event) {
  keep_files();
  summaries_.on_event(event);
  if (file_) file_->on_event(event);  // not when a restart could not take the file back
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
  warn(text);
  say(text);
}

std::optional<ResumePoint> resume_point(const JobPlan& job, const OutputOptions& options) {
  if (!options.resume) {
    require_weights(job);
    return std::nullopt;
  }
  if (*options.resume != "auto")
    require_run(*options.resume, ExitCode::kCheckpoint, "dtrain run --resume RUN");
  ResumePoint point = find_resume_point(*options.resume, directory_options(job, options));
  std::string other_model;
  try {
    require_model_of(job, point.checkpoint);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kCheckpoint) throw;
    other_model = error.what();
  }
  require_resumable(job, point.state, other_model);
  return point;
}

std::string nothing_left(const JobPlan& job, const ResumePoint* from) {
  if (from == nullptr) return "";
  const std::string complete = complete_text(job, *from);
  const bool early = complete.empty() && job.spec.callbacks.early_stopping.metric;
  if ((complete.empty() && !early) || from->state.step > job.distributed_run().total_steps) return complete;
  std::optional<std::string> reason;
  try {
    // Killed before it could say so: its results are still to be written.
    if (read_finished_run(from->run).end.status != "completed") return "";
    if (early) reason = reason_to_end_early(job, *from);
  } catch (const std::exception&) {  // the run that resumes says what is wrong
    return complete;
  }
  return reason ? fmt::format("{} is complete: {} would continue it", from->run.string(), *reason) : complete;
}

std::string stopped_message(const std::string& reason, const RunOutput& output, bool saved) {
  if (output.checkpoint_step() < 0) return reason + "; no checkpoint was saved, so it cannot resume";
  const bool at_the_stop = saved && !output.last_is_suspect();
  return fmt::format("{}{} step {}\nto resume: {}", reason,
                     at_the_stop ? " after" : "; the last checkpoint is of",
                     with_separators(output.checkpoint_step()), resume_command(output.directory().path()));
}

void RunOutput::write_summary() {
  keep_files();
  if (file_) file_->sync();
  directory_.write_summary(summaries_.document());
}

}  // namespace dtrain
