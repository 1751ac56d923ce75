// A bound on how large an optimizer's steps can have made its parameters.
#pragma once

#include "spec/spec.h"

namespace dtrain {

// An upper bound of the largest magnitude among some parameters, computed from an earlier magnitude and the
// steps since. A larger value was not made by the steps (a bit of memory has flipped), or the training is
// about to diverge.
//
// A step moves each parameter by at most learning_rate * c, whatever the gradients:
//   adam, adamw  c = max(1, (1 - beta1) / sqrt((1 - beta2) (1 - beta1^2 / beta2))) where beta1^2 < beta2.
//                By the Cauchy-Schwarz inequality (sum_i a_i g_i)^2 <= (sum_i a_i^2 / b_i) (sum_i b_i g_i^2),
//                for a_i = (1 - beta1) beta1^i and b_i = (1 - beta2) beta2^i; in the first step both
//                corrected averages are of one gradient, and c = 1. (Kingma and Ba 2015, section 2.1, give
//                (1 - beta1) / sqrt(1 - beta2) for a gradient that comes once.)
//                adamw also multiplies by |1 - learning_rate weight_decay|, which matters if it is above 1.
//   rmsprop      c = 1 / (sqrt(1 - decay) (1 - momentum)), since the mean square has (1 - decay) g^2 in it.
//   sgd          c = (clip_norm + weight_decay largest) / (1 - momentum), the geometric series of clipped
//                gradients, where train.clip_norm is set.
// The bound allows ten times as much, for rounding and for averages made with other settings before the run
// was resumed. If no such c exists (sgd without clipping), the bound is a thousand times the earlier
// magnitude, or 1000 if that magnitude is below 1.
class GrowthBound {
 public:
  // `clip_norm`: the limit on the norm of the whole gradient; 0: no clipping.
  explicit GrowthBound(const OptimizerSpec& spec, double clip_norm = 0);

  // Starts again from `largest`, the largest magnitude now.
  void begin(double largest);
  void add_step(double learning_rate);
  // The bound after the steps so far.
  double value() const;

 private:
  double movement_;       // c without weight decay; infinite: no c exists
  double decay_ = 0;      // what weight decay adds to it, for each unit of the largest magnitude
  double decoupled_ = 0;  // adamw's weight decay
  double bound_ = 0;
};

}  // namespace dtrain
