#include "spec/optimizer_kinds.h"

#include "spec/optimizers/adam.h"
#include "spec/optimizers/lion.h"
#include "spec/optimizers/rmsprop.h"
#include "spec/optimizers/sgd.h"

namespace dtrain {

const std::vector<OptimizerKind>& all_optimizers() {
  static const std::vector<OptimizerKind> kinds = {
      sgd_kind(),
      rmsprop_kind(),
      adam_kind(),
      adamw_kind(),
      lion_kind(),
  };
  return kinds;
}

const OptimizerKind& optimizer_kind(const std::string& name) {
  for (const OptimizerKind& kind : all_optimizers()) {
    if (kind.name == name) return kind;
  }
  throw Error(ExitCode::kBug, "no optimizer named '" + name + "'");
}

const Choices& optimizer_kinds() {
  static const Choices choices = [] {
    Choices all{"optimizer", {}};
    for (const OptimizerKind& kind : all_optimizers()) all.built.push_back(kind.name);
    return all;
  }();
  return choices;
}

}  // namespace dtrain
