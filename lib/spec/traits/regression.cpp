#include <cmath>

#include "traits/loss_kinds.h"

namespace dtrain {
namespace {

// Over all outputs of all examples.
double mean_of_outputs(const ExampleSums& sum, const char* name) {
  return sum(name) / static_cast<double>(sum.outputs()) / sum("examples");
}

double rmse(const ExampleSums& sum) { return std::sqrt(mean_of_outputs(sum, "squared_errors")); }
double mae(const ExampleSums& sum) { return mean_of_outputs(sum, "absolute_errors"); }
// What is below this share of the sum of squares is its rounding: the targets are all the same.
constexpr double kRounding = 1e-13;
double r2_of(const ExampleSums& sum, int64_t output) {
  const double errors = sum("squared_errors", output), squares = sum("squared_targets", output);
  const double targets = sum("targets", output);
  const double deviations = squares - targets * targets / sum("examples");
  if (deviations <= kRounding * squares) return errors == 0 ? 1.0 : 0.0;
  return 1 - errors / deviations;
}
// The mean over the outputs, as in scikit-learn: the distance between the means of two outputs explains
// nothing of either.
double r2(const ExampleSums& sum) {
  double total = 0;
  for (int64_t output = 0; output < sum.outputs(); ++output) total += r2_of(sum, output);
  return total / static_cast<double>(sum.outputs());
}

}  // namespace

ObjectiveInfo regression_info(const std::string& name) {
  return {.name = name,
          .targets = Targets::kNumbers,
          .outputs = Outputs::kValues,
          .output_sums = {"squared_errors", "absolute_errors"},
          .target_sums = {"targets", "squared_targets"},
          .metrics = {loss_metric(),
                      {"rmse", /*higher_is_better=*/false, MetricUnit::kNumber, rmse},
                      {"mae", /*higher_is_better=*/false, MetricUnit::kNumber, mae},
                      {"r2", /*higher_is_better=*/true, MetricUnit::kNumber, r2}}};
}

}  // namespace dtrain
