#include <algorithm>

#include "metrics/statistics.h"
#include "train/assembly.h"
#include "train/replica.h"

namespace dtrain {
namespace {

constexpr double kSecondsBetweenReports = 0.2;

// A run may skip millions; here a few hundred warm up anything.
int64_t skipped_steps(const JobPlan& job) { return std::min(job.spec.metrics.skip_steps, kOverheadSteps); }

struct Contestant {
  std::unique_ptr<Strategy> strategy;
  std::vector<double> seconds;  // of each step that counts

  Contestant(const JobPlan& job, const RunPlan& run, const std::string& kind, const TrainSpec& train,
             const std::shared_ptr<Accelerator>& accelerator) {
    StrategyParts parts =
        strategy_parts(job, train, make_single_group(), std::make_shared<StepClock>(), accelerator);
    TrainedLayers layers = run.phases.front().layers;
    layers.first = 0;  // what is measured does not depend on where the inputs of the trained layers come from
    parts.model->train_layers(layers);
    strategy = make_strategy(kind, std::move(parts));
    strategy->place_variables();
  }

  void step(const Share& share, const StepContext& context, const std::function<double()>& clock) {
    const double start = clock();
    strategy->train_step(share, context);
    strategy->sum_over_replicas(MetricSums());  // waits until a device has done it
    seconds.push_back(clock() - start);
  }
};

}  // namespace

int64_t overhead_steps(const JobPlan& job, const RunPlan& run) {
  return skipped_steps(job) + run.total_steps;
}

void measure_overhead(const JobPlan& job, const RunPlan& run, const Dataset& dataset, EventSink& sink,
                      const std::shared_ptr<Accelerator>& accelerator, const std::function<double()>& clock) {
  const TrainSpec train = training_of(job, run, *dataset.train);
  Contestant baseline(job, run, job.spec.compare.baseline, train, accelerator);
  Contestant contender(job, run, run.strategy, train, accelerator);
  ShareLoader shares(dataset.train, train_options(job, run, /*rank=*/0, accelerator.get()));
  const int64_t steps = overhead_steps(job, run);
  auto report = begin_event<OverheadEvent>(run.name());
  report.steps = steps;
  double reported = steady_seconds();
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
    first.step(*share, context, clock);
    second.step(*share, context, clock);
    if (step + 1 == skipped_steps(job)) baseline.seconds.clear(), contender.seconds.clear();
    if (steady_seconds() - reported < kSecondsBetweenReports) continue;
    reported = steady_seconds();
    report.step = step + 1;
    sink.on_event(encode(report));
  }
  report.step = steps;
  if (const auto cost = relative_cost(baseline.seconds, contender.seconds)) {
    report.overhead = cost->value;
    report.uncertainty = cost->uncertainty;
  }
  sink.on_event(encode(report));
}

}  // namespace dtrain
