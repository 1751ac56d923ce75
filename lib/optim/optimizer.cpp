#include "optim/optimizer.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace dtrain {
namespace {

std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors) zeros.push_back(at::zeros_like(tensor));
  return zeros;
}

// The gradients now: they may be views that a gradient reducer replaces after the first step.
std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

// Of an optimizer that needs no more than to count.
class CountingOptimizer : public Optimizer {
 public:
  int64_t steps() const override { return steps_; }
  void set_steps(int64_t steps) override { steps_ = steps; }

 protected:
  int64_t steps_ = 0;
};

// SGD with momentum (Polyak 1964) or Nesterov momentum (Sutskever et al. 2013), in PyTorch's form:
// v <- momentum v + g (v = g at the first step); p <- p - lr v, or p - lr (g + momentum v). Weight decay adds
// decay p to g.
class Sgd : public CountingOptimizer {
 public:
  Sgd(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : spec_(spec), parameters_(parameters) {
    if (spec.momentum != 0) momentum_ = zeros_like_each(parameters);
  }

  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    at::_fused_sgd_(parameters_, gradients_of(parameters_), momentum_, spec_.weight_decay, spec_.momentum,
                    learning_rate, /*dampening=*/0.0, spec_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/steps_ == 0);
    ++steps_;
  }

  std::vector<OptimizerMemory> memory() const override {
    if (spec_.momentum == 0) return {};
    return {{"momentum", momentum_}};
  }

 private:
  OptimizerSpec spec_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> momentum_;
};

// RMSprop (Tieleman and Hinton 2012, lecture 6.5 of Neural Networks for Machine Learning), in PyTorch's form:
// s <- decay s + (1 - decay) g^2; u = g / (sqrt(s) + epsilon); with momentum b <- momentum b + u in place of
// u; p <- p - lr u. LibTorch has no fused kernel for it: a pass over the list for each operation.
class Rmsprop : public CountingOptimizer {
 public:
  Rmsprop(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : spec_(spec), parameters_(parameters), square_average_(zeros_like_each(parameters)) {
    if (spec.momentum != 0) momentum_ = zeros_like_each(parameters);
  }

  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients = gradients_of(parameters_);
    if (spec_.weight_decay != 0) gradients = at::_foreach_add(gradients, parameters_, spec_.weight_decay);
    at::_foreach_mul_(square_average_, spec_.decay);
    at::_foreach_addcmul_(square_average_, gradients, gradients, 1 - spec_.decay);
    std::vector<at::Tensor> divisors = at::_foreach_sqrt(square_average_);
    at::_foreach_add_(divisors, spec_.epsilon);
    if (spec_.momentum == 0) {
      at::_foreach_addcdiv_(parameters_, gradients, divisors, -learning_rate);
    } else {
      at::_foreach_mul_(momentum_, spec_.momentum);
      at::_foreach_addcdiv_(momentum_, gradients, divisors);
      at::_foreach_add_(parameters_, momentum_, -learning_rate);
    }
    ++steps_;
  }

  std::vector<OptimizerMemory> memory() const override {
    std::vector<OptimizerMemory> all = {{"square_average", square_average_}};
    if (spec_.momentum != 0) all.push_back({"momentum", momentum_});
    return all;
  }

 private:
  OptimizerSpec spec_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> square_average_;
  std::vector<at::Tensor> momentum_;
};

// Adam (Kingma and Ba 2015) and, with decoupled weight decay, AdamW (Loshchilov and Hutter 2019).
class Adam : public CountingOptimizer {
 public:
  using Kernel = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                          at::TensorList, double, double, double, double, double, bool, bool,
                          const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);

  Adam(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters, Kernel kernel)
      : spec_(spec),
        parameters_(parameters),
        average_(zeros_like_each(parameters)),
        square_average_(zeros_like_each(parameters)),
        kernel_(kernel) {
    for (const at::Tensor& parameter : parameters) {
      counts_.push_back(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(parameter.device())));
    }
  }

  void step(double learning_rate) override {
    const at::NoGradGuard no_grad;
    ++steps_;
    at::_foreach_add_(counts_, 1);
    kernel_(parameters_, gradients_of(parameters_), average_, square_average_, {}, counts_, learning_rate,
            spec_.beta1, spec_.beta2, spec_.weight_decay, spec_.epsilon, /*amsgrad=*/false,
            /*maximize=*/false, {}, {});
  }

  std::vector<OptimizerMemory> memory() const override {
    return {{"average", average_}, {"square_average", square_average_}};
  }
  // The kernels count for each parameter, in its device's memory.
  void set_steps(int64_t steps) override {
    CountingOptimizer::set_steps(steps);
    for (at::Tensor& count : counts_) count.fill_(steps);
  }

 private:
  OptimizerSpec spec_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> average_;
  std::vector<at::Tensor> square_average_;
  std::vector<at::Tensor> counts_;
  Kernel kernel_;
};

using Factory = std::unique_ptr<Optimizer> (*)(const OptimizerSpec&, const std::vector<at::Tensor>&);

const std::vector<std::pair<std::string, Factory>> kOptimizers = {
    {"sgd",
     [](const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Sgd>(spec, parameters);
     }},
    {"rmsprop",
     [](const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Rmsprop>(spec, parameters);
     }},
    {"adam",
     [](const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Adam>(spec, parameters, static_cast<Adam::Kernel>(&at::_fused_adam_));
     }},
    {"adamw",
     [](const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Adam>(spec, parameters, static_cast<Adam::Kernel>(&at::_fused_adamw_));
     }},
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec,
                                          const std::vector<at::Tensor>& parameters) {
  for (const auto& [name, make] : kOptimizers) {
    if (name == spec.kind) return make(spec, parameters);
  }
  throw Error(ExitCode::kBug, "no optimizer named '" + spec.kind + "'");
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& entry : kOptimizers) all.push_back(entry.first);
    return all;
  }();
  return names;
}

}  // namespace dtrain
