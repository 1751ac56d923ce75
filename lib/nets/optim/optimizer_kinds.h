// The computations and properties of each optimizer. Its name and fields are in spec/optimizer_kinds.h.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mlir/builder.h"
#include "optim/optimizer.h"

namespace dtrain {

// How far a step can move a parameter, in units of the learning rate, whatever the gradients
// (GrowthBound).
struct LargestStep {
  double movement = std::numeric_limits<double>::infinity();  // without weight decay; infinite: no limit
  double decay = 0;        // what weight decay adds, for each unit of the largest magnitude
  double of_matrices = 0;  // in a matrix; times the root of rows / columns if it has more rows
};

// A smaller epsilon does not limit a step: squares that underflow to zero no longer bound a quotient.
constexpr double kLeastEpsilon = 1e-15;

// One parameter and what belongs to it; an update replaces all but the gradient.
struct UpdatedParameter {
  Value parameter;
  Value gradient;      // the same shape
  bool decays = true;  // the spec's weight decay applies to it (decays())
  std::map<std::string, Value> memory =
      {};  // by the names of Optimizer::memory(), and WeightAverage::kMemory
};

// Writes the update of one parameter into a program of StableHLO.
using WriteUpdate = std::function<void(UpdatedParameter& one)>;

struct OptimizerMethod {
  std::string name;
  // The names of its state for each parameter, as in Optimizer::memory().
  std::vector<std::string> (*memory)(const OptimizerSpec& spec);
  std::unique_ptr<Optimizer> (*make)(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters);
  // `clip_norm`: the limit on the norm of the whole gradient; 0: no clipping.
  LargestStep (*largest_step)(const OptimizerSpec& spec, double clip_norm);
  // As lower_update(). nullptr: the strategy tpu refuses this optimizer.
  WriteUpdate (*lower)(const OptimizerSpec& spec, const Value& step, const Value& learning_rate) = nullptr;
};

// Each has a file of its own.
OptimizerMethod sgd_method();
OptimizerMethod rmsprop_method();
OptimizerMethod adam_method();
OptimizerMethod adamw_method();
OptimizerMethod lion_method();
OptimizerMethod lars_method();
OptimizerMethod lamb_method();
OptimizerMethod muon_method();

// Adds a plug-in's optimizer.
void add_optimizer_method(const OptimizerMethod& method);

// Throws Error(kBug) for an unknown name: specs are checked earlier.
const OptimizerMethod& optimizer_method(const std::string& name);

// `direction`, such as the gradient, with weight decay as part of it.
Value with_decay(const OptimizerSpec& spec, const UpdatedParameter& one, const Value& direction);

// 1 - beta^step, which corrects an average for its start at 0; without the loss of digits that the difference
// would have in 32 bits.
Value start_correction(const Value& step, double beta);

// A step's update of each parameter: the optimizer's, then that of the average of the weights. `step`
// (updates made, with this one) and `learning_rate` are numbers of the model's type.
WriteUpdate lower_update(const TrainSpec& train, const Value& step, const Value& learning_rate);

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
