// Optimizers as specs have them, for tests.
#pragma once

#include <string>

#include "optim/optimizer.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {

// Makes `spec` one of `kind`. The kinds that have momentum get it, lars moves as far as the others at their
// rates, and all other fields have their defaults.
inline void set_kind(OptimizerSpec& spec, const std::string& kind, double momentum = 0.9) {
  spec.kind = kind;
  spec.own = {};
  if (kind == "sgd") spec.own = SgdFields{.momentum = momentum};
  if (kind == "rmsprop") spec.own = RmspropFields{.momentum = momentum};
  if (kind == "lars") spec.own = LarsFields{.momentum = momentum, .trust_coefficient = 2};
}

// The kinds that can update parts of a parameter one by one, as servers do.
inline std::vector<std::string> optimizers_of_parts() {
  std::vector<std::string> names;
  for (const OptimizerKind& kind : all_optimizers())
    if (!kind.takes_norms && !kind.takes_whole) names.emplace_back(kind.name);
  return names;
}

// The kinds that hosts can divide.
inline std::vector<std::string> optimizers_of_slices() {
  std::vector<std::string> names;
  for (const OptimizerKind& kind : all_optimizers())
    if (!kind.takes_whole) names.emplace_back(kind.name);
  return names;
}

}  // namespace dtrain
