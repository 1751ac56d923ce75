#include "objective/objective.h"

#include "core/error.h"

namespace dtrain {

const LossKind* find_loss_kind(const std::string& name) {
  for (const LossKind* kind :
       {&kCrossEntropy, &kBinaryCrossEntropy, &kMeanSquaredError, &kMeanAbsoluteError, &kHuber, &kLogCosh}) {
    if (kind->name == name) return kind;
  }
  return nullptr;
}

std::unique_ptr<Objective> make_objective(const TrainSpec& train) {
  const LossKind* const kind = find_loss_kind(train.loss.kind);
  if (kind == nullptr) throw Error(ExitCode::kBug, "no loss '" + train.loss.kind + "'");
  return kind->make(train);
}

}  // namespace dtrain
