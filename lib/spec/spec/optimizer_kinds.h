// The optimizers as a spec has them; room `optim` computes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/field_table.h"

namespace dtrain {

// What is wrong with fields that are each right by themselves.
struct Contradiction {
  std::string field;  // that the problem is reported of
  std::string other;
  std::string text;
};

struct OptimizerKind {
  std::string name;
  bool decouples_decay = false;  // weight_decay shrinks the weights, and is no part of the gradient
  Fields<KindFields> fields = {};
  std::optional<Contradiction> (*contradiction)(const KindFields& own) = nullptr;
};

const std::vector<OptimizerKind>& all_optimizers();
// Throws Error(kBug) for an unknown name.
const OptimizerKind& optimizer_kind(const std::string& name);

}  // namespace dtrain
