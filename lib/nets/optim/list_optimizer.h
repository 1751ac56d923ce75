// The common base of all optimizers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer_kinds.h"

namespace dtrain {

// The tensors with these numbers, in the order of `numbers`.
inline std::vector<at::Tensor> chosen(const std::vector<at::Tensor>& tensors,
                                      const std::vector<size_t>& numbers) {
  std::vector<at::Tensor> result;
  result.reserve(numbers.size());
  for (const size_t number : numbers) result.push_back(tensors[number]);
  return result;
}

// The norm of each, float64 [tensors.size()]. The number of threads changes no bit.
at::Tensor norms_of(const std::vector<at::Tensor>& tensors);

// Lists of tensors of the same sizes as `parameters`, cut into the same pieces. LibTorch's kernels for lists
// give a block of a GPU's threads 65,536 numbers, so that a small model would keep only a few of its
// processors busy.
class Pieces {
 public:
  // Cuts nothing on a processor, nothing if that makes no more blocks, and nothing that is not contiguous.
  Pieces(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients);
  // Pieces of this size; 0: tensors stay whole.
  Pieces(const std::vector<at::Tensor>& parameters, int64_t size) : parameters_(parameters), size_(size) {}
  // The size for so many tensors with so many numbers in all.
  static int64_t size_for(int64_t numbers, int64_t tensors);

  std::vector<at::Tensor> of(const std::vector<at::Tensor>& tensors) const;  // views, in order
  std::vector<at::Tensor> repeated(
      const std::vector<at::Tensor>& numbers) const;  // one of each parameter, by piece

 private:
  std::vector<at::Tensor> parameters_;
  int64_t size_;  // numbers of a piece; 0: whole
};

// A list of parameters, what is remembered of them, the number of steps, and the rate of the current step.
class ListOptimizer : public Optimizer {
 public:
  // `memory`: the names of what it remembers of each parameter, which are zeros at first.
  ListOptimizer(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters,
                const std::vector<std::string>& memory);

  void begin_step(double learning_rate) override;
  size_t size() const override { return parameters_.size(); }
  std::vector<OptimizerMemory> memory() const override { return memory_; }
  int64_t steps() const override { return steps_; }
  void set_steps(int64_t steps) override { steps_ = steps; }

 protected:
  // The names of what kinds remember.
  static constexpr const char *kAverage = "average", *kSquareAverage = "square_average",
                              *kMomentum = "momentum";

  // What is remembered, under the name at `place` in the list of names, of the parameters with these numbers.
  std::vector<at::Tensor> remembered(size_t place, const std::vector<size_t>& numbers) const {
    return chosen(memory_[place].tensors, numbers);
  }

  // A kernel of LibTorch that updates a whole list: the pieces of the parameters and of their gradients, the
  // rate, the decay; and what cuts the other lists alike.
  using FusedKernel = std::function<void(const std::vector<at::Tensor>&, const std::vector<at::Tensor>&,
                                         const at::Tensor&, double, const Pieces&)>;
  // Updates the parameters with these numbers by `kernel`, whose decay is `decoupled` from the gradient or
  // not. On a GPU such kernels read the rate as a float32. So the change of float64 parameters is computed at
  // a rate of 1, starting from zeros, and multiplied by the rate afterwards. The CPU does the same, for the
  // same weights.
  void update_by(const FusedKernel& kernel, const std::vector<size_t>& numbers, bool decoupled = false);

  const double weight_decay_;
  std::vector<at::Tensor> parameters_;
  std::vector<OptimizerMemory> memory_;
  at::Tensor learning_rate_;  // on the parameters' device

 private:
  at::Tensor one_;                 // the rate of float64 kernels; undefined for other types
  double last_learning_rate_ = 0;  // in learning_rate_
  int64_t steps_ = 0;
};

// The OptimizerMethod of `Kind`, a ListOptimizer with static memory_of(), largest_step() and perhaps lower().
template <class Kind>
OptimizerMethod optimizer_method_of(const std::string& name) {
  const auto make = [](const OptimizerSpec& spec,
                       const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Kind>(spec, parameters);
  };
  OptimizerMethod method = {name, Kind::memory_of, make, Kind::largest_step};
  if constexpr (requires { &Kind::lower; }) method.lower = Kind::lower;
  return method;
}

// The type of the learning rate in the memory of `device`, where it updates parameters of type `parameters`.
at::ScalarType rate_type(at::Device device, at::ScalarType parameters);

// The current gradients: they may be views, which a gradient reducer replaces after the first step.
std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters);

}  // namespace dtrain
