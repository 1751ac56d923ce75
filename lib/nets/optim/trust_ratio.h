// Optimizers that scale the change of each parameter in proportion to the norm of the parameter.
#pragma once

#include <vector>

#include "optim/list_optimizer.h"

namespace dtrain {

// A parameter p with the direction d changes by ratio (d + decay p), where ratio is coefficient |p| / (|d| +
// decay |p| + epsilon), and 1 where one of these norms is 0.
struct TrustRatio {
  double coefficient = 1, decay = 0, epsilon = 0;
};

// A step has two halves, between which the norms may be replaced: it makes the directions, and moves the
// parameters. Norms are float64.
class ScaledOptimizer : public ListOptimizer {
 public:
  ScaledOptimizer(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters,
                  const std::vector<std::string>& memory, const TrustRatio& ratio, bool makes_directions)
      : ListOptimizer(spec, parameters, memory),
        ratio_(ratio),
        makes_directions_(makes_directions),
        scales_(spec.scales),
        directions_(parameters.size()),
        squares_(parameters.size()) {}

  std::vector<at::Tensor> measure() override;
  void update(const std::vector<size_t>& numbers) override;

  // A ratio has no limit.
  static LargestStep largest_step(const OptimizerSpec&, double) { return {}; }

 protected:
  // The directions of the parameters with these numbers, from their gradients. Updates what is remembered. If
  // not `makes_directions`, they are the gradients themselves; else update() overwrites them.
  virtual std::vector<at::Tensor> directions(const std::vector<size_t>& numbers) = 0;
  // What update() subtracts for these `changes`: the changes times the learning rate, written over them.
  virtual std::vector<at::Tensor> moves(const std::vector<size_t>& numbers, std::vector<at::Tensor> changes);

 private:
  void prepare(const std::vector<size_t>& numbers);

  TrustRatio ratio_;
  bool makes_directions_;
  bool scales_;
  std::vector<at::Tensor> directions_;  // between the halves of a step
  std::vector<at::Tensor> squares_;     // as measure()
  bool measured_ = false;
};

// The change of a parameter in a program of StableHLO; the direction itself if the parameter is excluded.
Value lowered_change(const TrustRatio& ratio, const UpdatedParameter& one, const Value& direction);

}  // namespace dtrain
