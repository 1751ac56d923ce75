#include "spec/optimizer_kinds.h"

#include "core/named.h"
#include "spec/optimizers/adam.h"
#include "spec/optimizers/lion.h"
#include "spec/optimizers/rmsprop.h"
#include "spec/optimizers/sgd.h"

namespace dtrain {

const std::vector<OptimizerKind>& all_optimizers() {
  static const std::vector<OptimizerKind> kinds = {
      sgd_kind(), rmsprop_kind(), adam_kind(), adamw_kind(), lion_kind(),
  };
  return kinds;
}

const OptimizerKind& optimizer_kind(const std::string& name) {
  return row_named(all_optimizers(), name, "optimizer");
}

const Choices& optimizer_kinds() {
  static const Choices choices{"optimizer", names_of_rows(all_optimizers())};
  return choices;
}

}  // namespace dtrain
