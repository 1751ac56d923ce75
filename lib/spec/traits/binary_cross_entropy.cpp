// For logits [n, outputs] and as many targets from 0 to 1; or logits [n, 1] and classes 0 and 1, int64 [n].
// `correct` counts the outputs of an example together as one; the other sums count each.
#include <cmath>

#include "traits/loss_kinds.h"

namespace dtrain {
namespace {

// part / whole; 0 where there is nothing to find or nothing was found, as in Keras and scikit-learn.
double share(const ExampleSums& sum, double part, double whole) {
  if (sum("examples") == 0) return std::nan("");
  return whole == 0 ? 0 : part / whole;
}

double precision(const ExampleSums& sum) {
  return share(sum, sum("true_positives"), sum("predicted_positives"));
}
double recall(const ExampleSums& sum) { return share(sum, sum("true_positives"), sum("positives")); }
double f1(const ExampleSums& sum) {
  return share(sum, 2 * sum("true_positives"), sum("predicted_positives") + sum("positives"));
}
double mean_area(const Counts& counts) {
  const auto area = mean_area_under_curve(counts);
  return area ? area->value : std::nan("");
}

}  // namespace

ObjectiveInfo binary_cross_entropy_info() {
  return {.name = "binary_cross_entropy",
          .targets = Targets::kEither,
          .outputs = Outputs::kYesNoLogits,
          .sums = {"correct", "true_positives", "predicted_positives", "positives"},
          .metrics = {loss_metric(), accuracy_metric(), fraction_metric("precision", precision),
                      fraction_metric("recall", recall), fraction_metric("f1", f1)},
          .of_evaluations = {macro_metric<&ClassCounts::precision>("macro_precision"),
                             macro_metric<&ClassCounts::recall>("macro_recall"),
                             macro_metric<&ClassCounts::f1>("macro_f1"),
                             fraction_metric("auc", nullptr, mean_area)}};
}

}  // namespace dtrain
