#include "job/restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text.h"
#include "metrics/events.h"

namespace dtrain {

bool may_end_otherwise(ExitCode code) {
  return code == ExitCode::kPeerLost || code == ExitCode::kBug || code == ExitCode::kMemory ||
         code == ExitCode::kDisagree;
}

int64_t most_restarts(const JobPlan& job, const RunPlan& run) {
  constexpr int64_t kAutomaticRestarts = 3;
  if (!run.traits().resumes) return 0;
  return job.spec.restarts.max.value_or(job.spec.checkpoint.saves_during_run() ? kAutomaticRestarts : 0);
}

std::optional<double> RestartPolicy::on_failure(const FailedAttempt& attempt) {
  why_not_.clear();
  if (most_ == 0 || !may_end_otherwise(attempt.code)) return std::nullopt;
  const bool crash_loop =
      last_ && last_->code == attempt.code && last_->step == attempt.step && last_->cause == attempt.cause &&
      (attempt.step > 0 || attempt.checkpoint == last_->checkpoint);  // 0: of a lost host it is not known
  // Another one is progress, be it of an earlier step: a damaged one may have been passed over.
  if (last_ && attempt.checkpoint != last_->checkpoint) in_a_row_ = 0;
  last_ = attempt;
  if (crash_loop) {
    why_not_ = "the same error at the same step as before the last restart: not restarted again";
    return std::nullopt;
  }
  if (in_a_row_ == most_) {
    why_not_ = fmt::format("not restarted again after {} without a new checkpoint (restarts.max)",
                           counted(in_a_row_, "restart"));
    return std::nullopt;
  }
  constexpr double kMostBackoffSeconds = 300;
  const double doublings = static_cast<double>(in_a_row_++) - 1;
  return doublings < 0 ? 0
                       : std::min(std::max(kMostBackoffSeconds, backoff_seconds_),
                                  backoff_seconds_ * std::exp2(doublings));
}

void RestartTally::on_event(const Event& event) {
  constexpr size_t kMostSteps = 64;
  if (place_of(event).run != name_of(RunKind::kDistributed)) return;
  if (const auto saved = decode<CheckpointEvent>(event)) reached_[saved->step.value_or(0)] = clock_();
  if (const auto start = decode<RunStartEvent>(event)) {
    lost_seconds_ = lost_seconds();
    waiting_ = false;
    reached_[start->resumed_step.value_or(0)] = clock_();
  }
  if (reached_.size() > kMostSteps) reached_.erase(reached_.begin());
}

void RestartTally::on_restart(int64_t step) {
  ++restarts_;
  from_ = step;
  waiting_ = true;
}

double RestartTally::lost_seconds() const {
  // The last one before: nobody may have heard of the checkpoint itself, when rank 0 died before it said so.
  const auto next = reached_.upper_bound(from_);
  if (!waiting_ || next == reached_.begin()) return lost_seconds_;
  return lost_seconds_ + clock_() - std::prev(next)->second;
}

}  // namespace dtrain
