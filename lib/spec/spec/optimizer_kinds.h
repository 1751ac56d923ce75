// The optimizers as a spec has them; room `optim` computes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/field_table.h"

namespace dtrain {

struct SgdFields {
  double momentum = 0;
  bool nesterov = false;
};
struct RmspropFields {
  double momentum = 0, decay = 0.99, epsilon = 1e-8;
};
struct AdamFields {  // adam, adamw
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};
struct LionFields {
  double beta1 = 0.9, beta2 = 0.99;
};
struct LarsFields {
  double momentum = 0.9, trust_coefficient = 0.001, epsilon = 1e-8;
};
struct LambFields {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
};
struct MuonFields {
  double momentum = 0.95, adam_learning_rate = 3e-4, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-10;
  bool nesterov = true;
};

struct OptimizerKind {
  std::string name;
  Fields<KindFields> fields = {};
  Contradictions contradictions = nullptr;
  bool decouples_decay = false;         // weight_decay shrinks the weights, and is not part of the gradient
  bool takes_whole = false;             // updates only whole parameters; those that are no kernels by adamw
  bool takes_norms = false;             // an update of a part of a parameter needs norms of the whole
  std::optional<double> own_rate = {};  // there is no default learning rate; an example of a good one
};

const std::vector<OptimizerKind>& all_optimizers();
// Throws Error(kBug) for an unknown name.
const OptimizerKind& optimizer_kind(const std::string& name);

}  // namespace dtrain
