// Optimizers that scale the change of each parameter in proportion to the norm of the parameter.
#pragma once

#include <vector>

#include "optim/list_optimizer.h"

namespace dtrain {

// A step has two halves. The first one makes the direction of each parameter; the second one moves the
// parameter along it, by a factor that depends on the norms of both: 1 where one of them is 0, or where the
// spec says that nothing is scaled. Norms are float64.
class ScaledOptimizer : public ListOptimizer {
 public:
  ScaledOptimizer(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters,
                  const std::vector<std::string>& memory)
      : ListOptimizer(spec, parameters, memory),
        directions_(parameters.size()),
        squares_(parameters.size()),
        scales_(spec.scales) {}

  std::vector<at::Tensor> measure() override;
  void update(const std::vector<size_t>& numbers) override;

 protected:
  // Of the parameters with these numbers, from their gradients. Counts them in what is remembered.
  virtual std::vector<at::Tensor> directions(const std::vector<size_t>& numbers) = 0;
  // By norms [n] of n parameters and of their directions, none of them 0.
  virtual at::Tensor ratios(const at::Tensor& of_parameters, const at::Tensor& of_directions) const = 0;
  // Moves the parameters with these numbers. `factors`: numbers, one for each.
  virtual void move(const std::vector<size_t>& numbers, const std::vector<at::Tensor>& directions,
                    const std::vector<at::Tensor>& factors) = 0;

 private:
  void prepare(const std::vector<size_t>& numbers);

  std::vector<at::Tensor> directions_;  // between the halves of a step
  std::vector<at::Tensor> squares_;     // as measure()
  bool scales_;
  bool measured_ = false;
};

// In a program of StableHLO.
Value norm_of(const Value& value);
// `ratio`, or 1 where one of the norms is 0.
Value lowered_ratio(const Value& of_parameter, const Value& of_direction, const Value& ratio);

}  // namespace dtrain
