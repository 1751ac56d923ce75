#include "train/overhead.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "metrics/events.h"
#include "metrics/statistics.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

constexpr double kSecondsBetweenReports = 0.2;
constexpr size_t kParts = 10;
constexpr double kStudentsT = 2.262;  // of 9 degrees of freedom, for 95 % between -t and t

// A run may skip millions; here a few hundred warm up anything.
int64_t skipped_steps(const JobPlan& job) { return std::min(job.spec.metrics.skip_steps, kOverheadSteps); }

// One of the two strategies and what its steps took.
struct Contestant {
  std::unique_ptr<Strategy> strategy;
  std::vector<double> seconds;  // of each step

  Contestant(const JobPlan& job, const std::string& kind, const std::shared_ptr<Accelerator>& accelerator)
      : strategy(make_strategy(
            kind, strategy_parts(job, make_single_group(), std::make_shared<PhaseClock>(), accelerator))) {
    strategy->place_variables();
  }

  void step(const Share& share, const StepContext& context, const std::function<double()>& clock) {
    const double start = clock();
    strategy->train_step(share, context);
    strategy->sum_over_replicas(MetricSums());  // waits until a device has done it
    seconds.push_back(clock() - start);
  }

  // Of the steps [begin, end); nullopt if there are none.
  std::optional<double> median_of(size_t begin, size_t end) const {
    const auto first = seconds.begin();
    return median({first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)});
  }
};

// Of the steps [begin, end); nullopt if there are none, or they took no time.
std::optional<double> overhead_of(const Contestant& baseline, const Contestant& contender, size_t begin,
                                  size_t end) {
  const auto baseline_seconds = baseline.median_of(begin, end);
  const auto contender_seconds = contender.median_of(begin, end);
  if (!baseline_seconds || !contender_seconds || !(*baseline_seconds > 0)) return std::nullopt;
  return *contender_seconds / *baseline_seconds - 1;
}

// From how much the parts of the measurement differ among themselves.
std::optional<double> uncertainty_of(const Contestant& baseline, const Contestant& contender, size_t begin,
                                     size_t end) {
  double sum = 0, squares = 0;
  for (size_t part = 0; part < kParts; ++part) {
    const auto overhead = overhead_of(baseline, contender, begin + (end - begin) * part / kParts,
                                      begin + (end - begin) * (part + 1) / kParts);
    if (!overhead) return std::nullopt;
    sum += *overhead;
    squares += *overhead * *overhead;
  }
  const double variance = std::max(0.0, (squares - sum * sum / kParts) / (kParts - 1));
  return kStudentsT * std::sqrt(variance / kParts);
}

}  // namespace

int64_t overhead_steps(const JobPlan& job, const RunPlan& run) {
  return skipped_steps(job) + run.total_steps;
}

void measure_overhead(const JobPlan& job, const RunPlan& run, const Dataset& dataset, EventSink& sink,
                      const std::shared_ptr<Accelerator>& accelerator, const std::function<double()>& clock) {
  Contestant baseline(job, job.spec.compare.baseline, accelerator);
  Contestant contender(job, run.strategy, accelerator);
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
    if (steady_seconds() - reported < kSecondsBetweenReports) continue;
    reported = steady_seconds();
    report.step = step + 1;
    sink.on_event(encode(report));
  }
  const auto begin = static_cast<size_t>(skipped_steps(job)), end = static_cast<size_t>(steps);
  report.step = steps;
  report.overhead = overhead_of(baseline, contender, begin, end);
  report.uncertainty = uncertainty_of(baseline, contender, begin, end);
  sink.on_event(encode(report));
}

}  // namespace dtrain
