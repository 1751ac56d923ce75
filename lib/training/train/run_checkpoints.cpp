#include "train/run_checkpoints.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "callbacks/callbacks.h"
#include "checkpoint/retention.h"
#include "core/clock.h"
#include "core/error.h"
#include "plan/own_program.h"
#include "runs/finished_run.h"

namespace dtrain {
namespace {

constexpr std::chrono::milliseconds kNoticeable(300);  // for which training may wait for the disk unsaid

// A replica that is alone may have no store.
void tell(const StorePtr& store, const std::string& key, const std::string& text) {
  if (store) store->set(key, text);
}

}  // namespace

bool saves_checkpoints(const JobPlan& job, const RunPlan& run) {
  return run.traits().saves && job.spec.checkpoint.saves();
}

Resumption resume_from(const std::filesystem::path& path, const StorePtr& store, bool leads,
                       const std::string& key) {
  if (!leads) {
    try {
      return {training_state_from(nlohmann::json::parse(store->get_to_str(key))), {}};
    } catch (const c10::DistStoreError&) {
      throw Error(ExitCode::kPeerLost,
                  "rank 0 did not read the checkpoint in time; if its disk is slow, raise "
                  "network.rendezvous_timeout_seconds");
    }
  }
  Checkpoint checkpoint = load_checkpoint(path);
  tell(store, key, event_text(to_json(checkpoint.state)));
  return {std::move(checkpoint.state), {std::move(checkpoint.model), std::move(checkpoint.optimizer)}};
}

RunCheckpoints::RunCheckpoints(const JobPlan& job, const RunPlan& run, const std::filesystem::path& folder,
                               bool leads, EventSink& sink, StorePtr store)
    : job_(job),
      spec_(job.spec.checkpoint),
      saves_(saves_checkpoints(job, run)),
      leads_(leads),
      run_(run.name()),
      folder_(folder),
      sink_(sink),
      store_(std::move(store)),
      last_time_(steady_seconds()) {
  if (!saves_ || !leads_) return;
  make_checkpoint_folder(folder_);
  program_ = settled_program(keep_program(job, folder_.parent_path()));
  const auto warn = [this](const std::string& text) { sink_.on_event(warning_event(run_, text)); };
  CheckpointSpec kept = spec_;
  kept.best = deciding_metric(job.spec);  // of those that an interval saves, too
  // A run that resumes from a checkpoint reads the metrics up to there: they are in their file before it is.
  writer_ = std::make_unique<CheckpointWriter>(
      folder_, kept, [this] { sink_.settle(); }, warn);
}

bool RunCheckpoints::are_due_by_time() const {
  return writer_ && spec_.every_minutes &&
         steady_seconds() - last_time_ >= 60 * static_cast<double>(*spec_.every_minutes);
}

bool RunCheckpoints::is_best(const std::map<std::string, double>& metrics, int64_t step) {
  if (!writer_ || !spec_.best.metric) return false;
  const auto value = metrics.find(*spec_.best.metric);
  if (value == metrics.end() || !std::isfinite(value->second)) return false;
  return dtrain::is_best(folder_, spec_.best, step, value->second);
}

bool RunCheckpoints::is_written(int64_t step) {
  if (!writing_) return true;
  const bool written = writer_->is_idle(kNoticeable);
  if (written) report();
  if (written || writing_->step == step || std::exchange(told_of_slow_disk_, true)) return written;
  sink_.on_event(warning_event(
      run_,
      fmt::format("the checkpoint of step {} is still being written after step {}: training waits for the "
                  "disk; save less often, or choose a faster disk with --run-dir",
                  writing_->step.value_or(0), step)));
  return false;
}

void RunCheckpoints::save(Checkpoint checkpoint, double since) {
  last_time_ = steady_seconds();
  auto event = begin_event<CheckpointEvent>(run_);
  event.step = checkpoint.state.step;
  event.epoch = checkpoint.state.epoch;
  const bool suspect = !checkpoint.state.suspicion.empty();
  event.path = (folder_ / checkpoint_name(checkpoint.state.step, suspect)).string();
  if (suspect) event.suspicion = checkpoint.state.suspicion;
  std::error_code ignored;
  std::filesystem::create_directories(folder_.parent_path(), ignored);  // if somebody has removed it
  if (std::error_code none; !program_.path.empty() && !std::filesystem::exists(program_.path, none))
    program_ = settled_program(keep_program(job_, folder_.parent_path()));
  checkpoint.program = program_;
  writer_->save(std::move(checkpoint));
  event.stall_ms = (steady_seconds() - since) * 1e3;
  writing_ = std::move(event);
}

void RunCheckpoints::report() {
  if (!writing_ || !writer_->is_idle()) return;
  sink_.on_event(encode(*std::exchange(writing_, std::nullopt)));
}

std::optional<Resumption> RunCheckpoints::return_to_best(int64_t step) {
  std::optional<SavedCheckpoint> best;
  if (leads_) {
    best = best_checkpoint(folder_, spec_.best);
    if (best && best->step >= step) best.reset();
    tell(store_, "best/is_earlier", best ? "yes" : "no");
  }
  if (leads_ ? !best : store_->get_to_str("best/is_earlier") == "no") return std::nullopt;
  Resumption resumption = resume_from(best ? best->path : "", store_, leads_, "best/state");
  if (leads_) best_step_ = best->step;
  return resumption;
}

void RunCheckpoints::finish() {
  if (writer_) writer_->finish();
  report();
  if (best_step_) remove_later_checkpoints(folder_, *best_step_);
}

}  // namespace dtrain
