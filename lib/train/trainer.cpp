#include "train/trainer.h"

#include <fmt/format.h>

#include <cmath>

#include "core/clock.h"
#include "core/error.h"

namespace dtrain {

Trainer::Trainer(const JobPlan& job, const RunPlan& run, Strategy& strategy, ShareLoader& train,
                 ShareLoader* test, PhaseClock& clock, RunReporter& reporter, ActivityLog& activity)
    : job_(job),
      run_(run),
      strategy_(strategy),
      train_(train),
      test_(test),
      clock_(clock),
      reporter_(reporter),
      activity_(activity),
      learning_rate_(run.learning_rate) {}

void Trainer::run() {
  strategy_.place_variables();
  reporter_.on_run_start();
  for (int64_t epoch = 0; epoch < run_.epochs; ++epoch) {
    train_epoch(epoch);
    if (evaluation_is_due(epoch)) evaluate(epoch);
  }
  strategy_.finish();
  activity_.doing(Activity::kFinished);
  reporter_.on_run_end(run_.epochs, step_);
}

void Trainer::train_epoch(int64_t epoch) {
  const double epoch_start = steady_seconds();
  const int64_t first_step = step_;
  double learning_rate = 0;
  epoch_sums_ = MetricSums();
  clock_.start();
  train_.start_epoch(epoch);
  while (step_ < run_.total_steps) {
    activity_.at_step(step_ + 1);
    activity_.doing(Activity::kWaitingForData);
    clock_.enter(Phase::kDataWait);
    const std::optional<Share> share = train_.next();
    if (!share) break;

    activity_.doing(Activity::kComputing);
    learning_rate = learning_rate_.at(step_);
    window_.add(strategy_.train_step(*share, learning_rate));
    ++step_;

    reporter_.on_step(epoch + 1, step_, clock_.lap(), share->global_examples);
    if (step_ % job_.spec.metrics.every_steps == 0) end_window(epoch, learning_rate);
  }
  end_window(epoch, learning_rate);
  reporter_.on_epoch(epoch + 1, step_ - first_step, steady_seconds() - epoch_start, learning_rate,
                     epoch_sums_);
}

void Trainer::end_window(int64_t epoch, double learning_rate) {
  clock_.enter(Phase::kCommunicate);
  const MetricSums window = strategy_.sum_over_replicas(std::move(window_));
  clock_.enter(Phase::kUpdate);
  window_ = MetricSums();
  if (window.examples() == 0) return;  // the epoch ended with a window; every replica sees the same sum
  epoch_sums_.add(window);
  reporter_.on_window(epoch + 1, step_, learning_rate, window);
  require_finite(window.loss(), "loss");
}

void Trainer::require_finite(double loss, const char* of) const {
  if (std::isfinite(loss)) return;
  throw Error(
      ExitCode::kDiverged,
      fmt::format("the {} is not finite by step {}: training diverged; lower train.optimizer.learning_rate "
                  "(now {:g}) or add train.learning_rate_scaling.warmup_steps",
                  of, step_, learning_rate_.at(step_ - 1)));
}

void Trainer::evaluate(int64_t epoch) {
  const double start = steady_seconds();
  activity_.doing(Activity::kEvaluating);
  MetricSums sums;
  test_->start_epoch(0);
  while (const std::optional<Share> share = test_->next()) sums.add(strategy_.evaluate(*share));
  sums = strategy_.sum_over_replicas(std::move(sums));
  if (sums.examples() != job_.data.test_examples) {
    throw Error(ExitCode::kBug,
                fmt::format("evaluated {} examples of {}", sums.examples(), job_.data.test_examples));
  }
  learning_rate_.on_evaluation(sums.loss(), sums.accuracy());  // the same sums on every replica
  reporter_.on_evaluation(epoch + 1, step_, steady_seconds() - start, sums);
  require_finite(sums.loss(), "evaluation loss");  // the last update alone can spoil the weights
}

bool Trainer::evaluation_is_due(int64_t epoch) const {
  if (test_ == nullptr) return false;
  return (epoch + 1) % job_.spec.evaluate.every_epochs == 0 || epoch + 1 == run_.epochs;
}

}  // namespace dtrain
