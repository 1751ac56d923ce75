#include "train/run_checkpoints.h"

#include "checkpoint/retention.h"
#include "core/clock.h"

namespace dtrain {
namespace {

bool any_interval(const CheckpointSpec& spec) {
  return spec.every_epochs || spec.every_steps || spec.every_minutes;
}

}  // namespace

bool saves_checkpoints(const JobPlan& job, const RunPlan& run) {
  return run.traits().saves && any_interval(job.spec.checkpoint);
}

RunCheckpoints::RunCheckpoints(const JobPlan& job, const RunPlan& run, const std::filesystem::path& folder,
                               bool leads, EventSink& sink)
    : spec_(job.spec.checkpoint),
      saves_(saves_checkpoints(job, run)),
      leads_(leads),
      run_(run.name()),
      folder_(folder),
      sink_(sink),
      last_time_(steady_seconds()) {
  if (!saves_ || !leads_) return;
  make_checkpoint_folder(folder_);
  writer_ = std::make_unique<CheckpointWriter>(folder_, spec_);
}

bool RunCheckpoints::are_due_after_step(int64_t step) const {
  return saves_ && spec_.every_steps && step % *spec_.every_steps == 0;
}

bool RunCheckpoints::are_due_after_epoch(int64_t epoch) const {
  return saves_ && spec_.every_epochs && epoch % *spec_.every_epochs == 0;
}

bool RunCheckpoints::are_due_by_time() const {
  return writer_ && spec_.every_minutes &&
         steady_seconds() - last_time_ >= 60 * static_cast<double>(*spec_.every_minutes);
}

void RunCheckpoints::save(Checkpoint checkpoint, double since) {
  finish();
  last_time_ = steady_seconds();
  auto event = begin_event<CheckpointEvent>(run_);
  event.step = checkpoint.state.step;
  event.epoch = checkpoint.state.epoch;
  const bool suspect = !checkpoint.state.suspicion.empty();
  event.path = (folder_ / checkpoint_name(checkpoint.state.step, suspect)).string();
  if (suspect) event.suspicion = checkpoint.state.suspicion;
  writer_->save(std::move(checkpoint));
  event.stall_ms = (steady_seconds() - since) * 1e3;
  writing_ = std::move(event);
}

void RunCheckpoints::report() {
  if (!writing_ || !writer_->is_idle()) return;
  sink_.on_event(encode(*writing_));
  writing_.reset();
}

void RunCheckpoints::finish() {
  if (!writer_) return;
  writer_->finish();
  report();
}

}  // namespace dtrain
