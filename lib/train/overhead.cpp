#include "train/overhead.h"

#include <algorithm>
#include <optional>

#include "core/clock.h"
#include "metrics/events.h"
#include "metrics/statistics.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

// A run may skip millions; here a few hundred warm up anything.
int64_t skipped_steps(const JobPlan& job) { return std::min(job.spec.metrics.skip_steps, kOverheadSteps); }

// One of the two strategies and what its steps took.
struct Contestant {
  std::unique_ptr<Strategy> strategy;
  StepTimer timer;

  Contestant(const JobPlan& job, const std::string& kind, const std::shared_ptr<Accelerator>& accelerator)
      : strategy(make_strategy(
            kind, strategy_parts(job, make_single_group(), std::make_shared<PhaseClock>(), accelerator))),
        timer(skipped_steps(job)) {
    strategy->place_variables();
  }

  void step(const Share& share, const StepContext& context) {
    const double start = steady_seconds();
    strategy->train_step(share, context);
    strategy->sum_over_replicas(MetricSums());  // waits until a device has done it
    timer.add(steady_seconds() - start, share.global_examples);
  }
};

}  // namespace

void measure_overhead(const JobPlan& job, const RunPlan& run, const Dataset& dataset, EventSink& sink,
                      const std::shared_ptr<Accelerator>& accelerator) {
  Contestant baseline(job, job.spec.compare.baseline, accelerator);
  Contestant contender(job, run.strategy, accelerator);
  ShareLoader shares(dataset.train, train_options(job, run, /*rank=*/0, accelerator.get()));
  const int64_t steps = skipped_steps(job) + run.total_steps;
  shares.start_epoch(0);
  for (int64_t step = 0; step < steps; ++step) {
    std::optional<Share> share = shares.next();
    if (!share) {
      shares.start_epoch(0);
      share = shares.next();
    }
    // Who goes first changes: the second one finds the batch in the cache.
    Contestant& first = step % 2 == 0 ? baseline : contender;
    Contestant& second = step % 2 == 0 ? contender : baseline;
    const StepContext context{step + 1, run.learning_rate_at(step)};
    first.step(*share, context);
    second.step(*share, context);
  }
  const auto baseline_ms = baseline.timer.run().step_ms;
  const auto contender_ms = contender.timer.run().step_ms;
  auto measured = begin_event<OverheadEvent>(run.name());
  if (baseline_ms && contender_ms && *baseline_ms > 0) measured.overhead = *contender_ms / *baseline_ms - 1;
  sink.on_event(encode(measured));
}

}  // namespace dtrain
