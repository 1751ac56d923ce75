// A bound on how large an optimizer's steps can have made its parameters.
#pragma once

#include "optim/optimizer_kinds.h"

namespace dtrain {

// An upper bound of the largest magnitude among some parameters, computed from an earlier magnitude and the
// steps since. A larger value was not made by the steps (a bit of memory has flipped), or the training is
// about to diverge.
//
// A step moves each parameter by at most learning_rate * c, whatever the gradients; the optimizer's kind says
// what c is (LargestStep). Decoupled weight decay also multiplies by |1 - learning_rate weight_decay|, which
// matters if it is above 1.
// The bound allows ten times as much, for rounding and for averages made with other settings before the run
// was resumed. If no such c exists (sgd without clipping), the bound is a thousand times the earlier
// magnitude, or 1000 if that magnitude is below 1.
class GrowthBound {
 public:
  // `clip_norm`: the limit on the norm of the whole gradient; 0: no clipping.
  explicit GrowthBound(const OptimizerSpec& spec, double clip_norm = 0)
      : GrowthBound(std::vector<OptimizerGroup>{{spec}}, clip_norm) {}
  // Of parameters in several groups: the largest of their bounds.
  // `tallest`: tallest_of() the parameters.
  explicit GrowthBound(const std::vector<OptimizerGroup>& groups, double clip_norm = 0, double tallest = 1);

  // Starts again from `largest`, the largest magnitude now.
  void begin(double largest);
  void add_step(double learning_rate);
  // The bound after the steps so far.
  double value() const;

 private:
  LargestStep step_;
  double decoupled_ = 0;  // weight decay that is no part of the gradient
  double bound_ = 0;
};

// The largest sqrt(rows / columns) of the parameters, taken as matrices; at least 1.
double tallest_of(const std::vector<at::Tensor>& parameters);

}  // namespace dtrain
