// The entries of the table of losses, each from a file of its own, and the metrics that several of them have.
// Functions and not constants, because other files use them to make tables before main().
#pragma once

#include <string>

#include "traits/objectives.h"

namespace dtrain {

ObjectiveInfo cross_entropy_info();
ObjectiveInfo binary_cross_entropy_info();
// Of any loss of numbers: values [n, outputs] and as many targets.
ObjectiveInfo regression_info(const std::string& name);

// A metric from 0 to 1, of which more is better: one of the two functions makes it.
inline MetricInfo fraction_metric(const char* name, double (*of_sums)(const ExampleSums& sum),
                                  double (*of_counts)(const Counts& counts) = nullptr) {
  return {name, /*higher_is_better=*/true, MetricUnit::kFraction, of_sums, of_counts};
}
inline MetricInfo loss_metric() {
  return {"loss", /*higher_is_better=*/false, MetricUnit::kNumber,
          [](const ExampleSums& sum) { return sum("loss") / sum("examples"); }};
}
inline MetricInfo accuracy_metric() {
  return fraction_metric("accuracy", [](const ExampleSums& sum) { return sum("correct") / sum("examples"); });
}
// The mean over the classes or outputs.
template <double (ClassCounts::*value)() const>
MetricInfo macro_metric(const char* name) {
  return fraction_metric(name, nullptr, [](const Counts& counts) { return macro_mean(counts, value); });
}

}  // namespace dtrain
