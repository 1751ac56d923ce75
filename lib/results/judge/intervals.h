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
// As many draws as fit into about two seconds, but not more than these. Of fewer than kFewestResamples the
// ends would say little: then there are no intervals.
constexpr int64_t kMostResamples = 1000;
constexpr int64_t kFewestResamples = 100;

// The metrics of a job for any weights of the examples.
class ExampleMetrics {
 public:
  explicit ExampleMetrics(const ExampleResults& results);
  size_t size() const { return size_; }
  // What values() costs, in additions, roughly.
  int64_t work() const;
  // Of the examples, each taken `times` (by example): as an evaluation of them has them, but for an exact
  // area under the ROC curve.
  MetricValues values(std::span<const uint32_t> times) const;
  MetricValues values() const { return values(std::vector<uint32_t>(size_, 1)); }

 private:
  // An example in the order of an output's values.
  struct Ranked {
    uint32_t example : 30;
    uint32_t is_yes : 1;
    uint32_t is_last : 1;  // of those with the same value
  };
  void add_class(const ExampleResults& results, size_t example);
  void add_answers(const ExampleResults& results, size_t example);
  void add_numbers(const ExampleResults& results, size_t example);
  void rank(const ExampleResults& results, int64_t output);
  double mean_area(std::span<const uint32_t> times) const;  // NaN: no output has one

  const ObjectiveInfo& info_;
  size_t size_;
  int64_t rows_ = 0, columns_ = 0;          // of Counts
  std::vector<double> sums_;                // [n, the objective's sums]
  std::vector<uint32_t> cells_, cell_end_;  // the cells of Counts in which an example counts; by example
  std::vector<Ranked> ranked_;              // of answers: [outputs, n], each output's lowest value first
};

// A metric of all examples, and the quantiles of its values over the draws: kIntervalLevel of them are from
// `low` to `high`.
struct MetricInterval {
  std::string metric;
  double value = 0, low = 0, high = 0;
};

// The metrics of all examples, and then of each of the draws. The same draws for as many examples; empty:
// they would take too long.
using Draws = std::vector<MetricValues>;
Draws draws_of(const ExampleMetrics& metrics);

// An interval for each metric that is finite, in most draws too. With `other`, of the same examples: for the
// difference of the other's metrics to these, draw by draw.
std::vector<MetricInterval> intervals_of(const Draws& draws, const Draws* other = nullptr);
std::vector<MetricInterval> bootstrap(const ExampleMetrics& metrics, const ExampleMetrics* other = nullptr);

// Those of the metrics themselves, as the events have them. Empty if results have a problem().
NamedIntervals named_intervals(const ExampleResults& results);

// The p-value of McNemar's exact test of two models on the same examples: of those that only one of them gets
// right, each has so many.
double mcnemar(int64_t only_first, int64_t only_second);

}  // namespace dtrain
