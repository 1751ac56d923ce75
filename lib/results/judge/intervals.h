// How far chance in the choice of the evaluated examples moves a metric: the bootstrap (Efron 1979), with a
// fixed seed.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/example_results.h"
#include "metrics/events.h"

namespace dtrain {

constexpr double kIntervalLevel = 0.95;
// As many draws as fit into about two seconds, but not more than these. From fewer than kFewestResamples the
// ends would say little: then there are no intervals.
constexpr int64_t kMostResamples = 1000;
constexpr int64_t kFewestResamples = 100;

// The metrics of all examples, as an evaluation has them but with an exact area under the ROC curve; then
// those of each draw. As many examples have the same draws. `sharing`: how many such calls share the time.
using Draws = std::vector<MetricValues>;
Draws draws_of(const ExampleResults& results, int64_t sharing = 1);

// For each metric that is finite, in most draws too, the quantiles between which kIntervalLevel of the draws
// are. With `other`, of the same examples: for the difference of the other's metrics to these, draw by draw.
NamedIntervals intervals_of(const Draws& draws, const Draws* other = nullptr);

// Empty if the results have a problem().
NamedIntervals intervals_of(const ExampleResults& results);

// The p-value of McNemar's exact test of two models on the same examples: how many of these only the first
// gets right, and how many only the second.
double mcnemar(int64_t only_first, int64_t only_second);

}  // namespace dtrain
