// What a Trainer does between steps: it evaluates, and keeps the results of single examples.
#include <fmt/format.h>

#include "callbacks/kept_examples.h"
#include "core/error.h"
#include "judge/intervals.h"
#include "spec/schedule_kinds.h"
#include "train/trainer.h"

namespace dtrain {

void Trainer::evaluate(int64_t epochs) {
  // Other workers go on meanwhile, and what is saved is what was evaluated.
  const bool may_be_saved = step_ == run_.total_steps || step_ == kept_step_ ||
                            job_.spec.checkpoint.best.metric || checkpoints_.are_due_after_step(step_) ||
                            checkpoints_.are_due_after_epoch(epochs);
  if (strategy_.is_asynchronous() && saves_here() && may_be_saved) {
    await_disk();  // so that no two copies are held at once
    evaluated_ = strategy_.collect_variables();
  }
  const double start = steady_seconds();
  evaluating_ = true;
  const MetricSums sums = pass_over(*shares().evaluated, job_.data.evaluated_examples(), epochs - 1);
  evaluating_ = false;
  const MetricValues metrics = sums.metrics();
  learning_rate_.on_evaluation(metrics);  // the same sums on every replica
  evaluation_ = {metrics.begin(), metrics.end()};
  reporter_.on_evaluation(epochs, step_, steady_seconds() - start, sums);
  // The last update alone can spoil the weights.
  require_finite(sums.loss(), job_.data.has_validation() ? "validation loss" : "test loss");
  const JobSpec& spec = job_.spec;
  const auto* watched = schedule_value<std::string>(phase_->learning_rate.curve.spec(), "metric");
  for (const std::optional<std::string>& metric :
       {spec.checkpoint.best.metric, spec.callbacks.early_stopping.metric,
        watched == nullptr ? std::nullopt : std::optional(*watched)}) {
    if (metric && !find_metric(metrics, *metric))
      throw Error(ExitCode::kData,
                  "the evaluated examples have no {}, which the job goes by: their targets are all the same; "
                  "evaluate others, or go by another metric",
                  *metric);
  }
}

void Trainer::test(int64_t epochs) {
  const double start = steady_seconds();
  const MetricSums sums = pass_over(*shares().final_test, job_.data.test_examples);
  reporter_.on_evaluation(epochs, step_, steady_seconds() - start, sums, /*final_test=*/true);
  require_finite(sums.loss(), "test loss");
}

bool Trainer::keeps(int64_t examples) const {
  return run_.traits().is_observed && why_not_kept(job_, examples).empty();
}

void Trainer::gather_examples() {
  const int64_t count = shares().final_test ? job_.data.test_examples : job_.data.evaluated_examples();
  if (went_back_ && !shares().final_test && keeps(count)) pass_over(*shares().evaluated, count);
  examples_ = placed_rows(std::exchange(rows_, {}), indices_, count);
  if (examples_.defined()) strategy_.sum_over_evaluating(examples_);
}

NamedIntervals Trainer::keep_examples() {
  const bool tested = shares().final_test != nullptr;
  const ShareLoader* const loader = tested ? shares().final_test.get() : shares().evaluated.get();
  if (!leads_ || loader == nullptr || !run_.traits().is_observed) return {};
  try {
    if (why_not_kept(job_, loader->source().size()) == kTooManyExamples) tell(kTooManyExamples);
    if (!examples_.defined()) return {};
    ExampleResults results =
        results_of(job_, tested || !job_.data.has_validation() ? kTestPart : kValidationPart, examples_);
    results.examples = identity_of(job_, results, loader->source());
    callbacks_.keep(results);
    return intervals_of(results);
  } catch (const std::exception& error) {  // the model is saved, and that is what counts
    reporter_.on_warning(fmt::format("the results of the examples are not kept: {}", error.what()));
  }
  return {};
}

MetricSums Trainer::pass_over(ShareLoader& examples, int64_t count, std::optional<int64_t> epoch) {
  activity_.doing(Activity::kEvaluating);
  MetricSums sums;
  indices_.clear();
  ready_ = 0;
  examples.start_epoch(0);
  while (std::optional<Share> share = next_share(examples, epoch)) {
    activity_.doing(Activity::kEvaluating);  // the replicas may have waited for each other
    share->keeps_rows = keeps(count);
    sums.add(strategy_.evaluate(*share));
    indices_.insert(indices_.end(), share->indices.begin(), share->indices.end());
  }
  rows_ = sums.take_rows();
  sums = strategy_.sum_over_replicas(std::move(sums));
  if (sums.examples() != count)
    throw Error(ExitCode::kBug, "evaluated {} examples of {}", sums.examples(), count);
  return sums;
}

}  // namespace dtrain
