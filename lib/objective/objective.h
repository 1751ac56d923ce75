// Losses: what a training minimises, and what its metrics are made from. The table of kinds/objectives.h has
// their names and metrics; make_objective() makes the one that a spec asks for.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "kinds/objectives.h"
#include "spec/spec.h"

namespace dtrain {

class Objective {
 public:
  virtual ~Objective() = default;
  const ObjectiveInfo& info() const { return info_; }

  // The sum of the examples' losses, a scalar, for what a model puts out for them: as training minimises it,
  // and as evaluations report it (label smoothing, for instance, is part of the first one only). The shapes
  // of `outputs` and `targets` are those of the entry in the table.
  virtual at::Tensor training_loss(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
  virtual at::Tensor evaluation_loss(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
  // Writes the sums over these examples that info().sums names into `sums`: float64 [that many], on the
  // device of `outputs`. In few operations: for a small batch a device takes longer to begin one than to
  // compute it.
  virtual void sum_up(const at::Tensor& outputs, const at::Tensor& targets, const at::Tensor& sums) const = 0;

 protected:
  explicit Objective(const ObjectiveInfo& info) : info_(info) {}

 private:
  const ObjectiveInfo& info_;
};

// The loss of `train`. Throws Error(kBug) for one that is not in the table: specs are checked before.
std::unique_ptr<Objective> make_objective(const TrainSpec& train);

}  // namespace dtrain
