// For logits [n, classes] and the index of each example's class, int64 [n].
#include "traits/loss_kinds.h"

namespace dtrain {

ObjectiveInfo cross_entropy_info() {
  return {.name = "cross_entropy",
          .targets = Targets::kClass,
          .outputs = Outputs::kClassLogits,
          .sums = {"correct"},
          .metrics = {loss_metric(), accuracy_metric()},
          .of_evaluations = {fraction_metric("top_5_accuracy", nullptr, top_accuracy),
                             macro_metric<&ClassCounts::precision>("macro_precision"),
                             macro_metric<&ClassCounts::recall>("macro_recall"),
                             macro_metric<&ClassCounts::f1>("macro_f1")}};
}

}  // namespace dtrain
