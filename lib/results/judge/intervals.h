// How far chance in the choice of the evaluated examples moves a metric: the bootstrap (Efron 1979), with a
// fixed seed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/example_results.h"
#include "metrics/events.h"

namespace dtrain {

constexpr double kIntervalLevel = 0.95;
// Fewer, down to a tenth, of more than 50,000 examples: the time has a bound.
constexpr int64_t kMostResamples = 1000;

// A job's metrics of any choice of the examples: sums, each example with its weight.
class ExampleMetrics {
 public:
  explicit ExampleMetrics(const ExampleResults& results);
  size_t size() const { return size_; }
  // Of the examples, each taken `times` (by example); the same metrics as an evaluation of them has.
  MetricValues values(std::span<const uint32_t> times) const;
  MetricValues values() const { return values(std::vector<uint32_t>(size_, 1)); }

 private:
  void add_class(const ExampleResults& results, size_t example);
  void add_answers(const ExampleResults& results, size_t example, std::span<const int64_t> bins);
  void add_numbers(const ExampleResults& results, size_t example);

  const ObjectiveInfo& info_;
  size_t size_;
  int64_t rows_ = 0, columns_ = 0;          // of Counts
  std::vector<double> sums_;                // [n, the objective's sums]
  std::vector<uint32_t> cells_, cell_end_;  // the cells of Counts in which an example counts; by example
};

// A metric and the interval that its bootstrap resamples have, without those beyond on either side: in this
// part, kIntervalLevel, of all resamples it lies between `low` and `high`.
struct MetricInterval {
  std::string metric;
  double value = 0, low = 0, high = 0;
};

// Of each metric. With `other`, of the same examples: of how much the other's is higher, pair by pair, for
// the metrics that both have.
std::vector<MetricInterval> bootstrap(const ExampleMetrics& metrics, const ExampleMetrics* other = nullptr);

// Those of the metrics themselves, as the events have them.
NamedIntervals named_intervals(const ExampleResults& results);

// McNemar's exact test of two models and the same examples: the probability that of the examples which only
// one gets right they share as unevenly as this or more, if both are equally good.
double mcnemar(int64_t only_first, int64_t only_second);

}  // namespace dtrain
