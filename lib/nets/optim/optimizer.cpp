#include "optim/optimizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "kernels/adam.h"
#include "optim/tensor_list.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors) zeros.push_back(at::zeros_like(tensor));
  return zeros;
}

// The current gradients: they may be views, which a gradient reducer replaces after the first step.
std::vector<at::Tensor> gradients_of(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

// A number in memory on the device of `tensors`, of the type that LibTorch's kernels on that device expect.
at::Tensor number_beside(const std::vector<at::Tensor>& tensors) {
  const at::Device device = tensors.empty() ? at::Device(at::kCPU) : tensors.front().device();
  return at::zeros({}, at::TensorOptions().dtype(device.is_cpu() ? at::kDouble : at::kFloat).device(device));
}

// What all optimizers share: a list of parameters, the number of steps, and the rate of the current step.
class ListOptimizer : public Optimizer {
 public:
  ListOptimizer(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : spec_(spec), parameters_(parameters), learning_rate_(number_beside(parameters)) {}

  void begin_step(double learning_rate) override {
    ++steps_;
    if (learning_rate == last_learning_rate_) return;
    learning_rate_.fill_(learning_rate);
    last_learning_rate_ = learning_rate;
  }
  size_t size() const override { return parameters_.size(); }
  int64_t steps() const override { return steps_; }
  void set_steps(int64_t steps) override { steps_ = steps; }

 protected:
  OptimizerSpec spec_;
  std::vector<at::Tensor> parameters_;
  at::Tensor learning_rate_;

 private:
  double last_learning_rate_ = 0;  // in learning_rate_
  int64_t steps_ = 0;
};

// SGD with momentum (Polyak 1964) or Nesterov momentum (Sutskever et al. 2013), in PyTorch's form:
// v <- momentum v + g (v = g at the first step); p <- p - lr v, or p - lr (g + momentum v). Weight decay adds
// decay p to g.
class Sgd : public ListOptimizer {
 public:
  Sgd(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ListOptimizer(spec, parameters) {
    if (spec.momentum != 0) momentum_ = zeros_like_each(parameters);
  }

  // The first step is no special case: the momentum starts at zero, and there is no dampening.
  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    const auto parameters = chosen(parameters_, numbers);
    const auto momentum = momentum_.empty() ? momentum_ : chosen(momentum_, numbers);
    at::_fused_sgd_(parameters, gradients_of(parameters), momentum, spec_.weight_decay, spec_.momentum,
                    learning_rate_, /*dampening=*/0.0, spec_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/false);
  }

  std::vector<OptimizerMemory> memory() const override {
    if (spec_.momentum == 0) return {};
    return {{"momentum", momentum_}};
  }

 private:
  std::vector<at::Tensor> momentum_;
};

// RMSprop (Tieleman and Hinton 2012, lecture 6.5 of Neural Networks for Machine Learning), in PyTorch's form:
// s <- decay s + (1 - decay) g^2; u = g / (sqrt(s) + epsilon); with momentum b <- momentum b + u in place of
// u; p <- p - lr u. LibTorch has no fused kernel for it, so each operation is a pass over the list.
class Rmsprop : public ListOptimizer {
 public:
  Rmsprop(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ListOptimizer(spec, parameters), square_average_(zeros_like_each(parameters)) {
    if (spec.momentum != 0) momentum_ = zeros_like_each(parameters);
  }

  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    const auto parameters = chosen(parameters_, numbers);
    const auto square_average = chosen(square_average_, numbers);
    std::vector<at::Tensor> gradients = gradients_of(parameters);
    if (spec_.weight_decay != 0) gradients = at::_foreach_add(gradients, parameters, spec_.weight_decay);
    at::_foreach_mul_(square_average, spec_.decay);
    at::_foreach_addcmul_(square_average, gradients, gradients, 1 - spec_.decay);
    std::vector<at::Tensor> changes = at::_foreach_sqrt(square_average);
    at::_foreach_add_(changes, spec_.epsilon);
    if (spec_.momentum == 0) {
      changes = at::_foreach_div(gradients, changes);
      at::_foreach_mul_(changes, learning_rate_);
    } else {
      const auto momentum = chosen(momentum_, numbers);
      at::_foreach_mul_(momentum, spec_.momentum);
      at::_foreach_addcdiv_(momentum, gradients, changes);
      changes = at::_foreach_mul(momentum, learning_rate_);
    }
    at::_foreach_sub_(parameters, changes);
  }

  std::vector<OptimizerMemory> memory() const override {
    std::vector<OptimizerMemory> all = {{"square_average", square_average_}};
    if (spec_.momentum != 0) all.push_back({"momentum", momentum_});
    return all;
  }

 private:
  std::vector<at::Tensor> square_average_;
  std::vector<at::Tensor> momentum_;
};

// Adam (Kingma and Ba 2015) and, with decoupled weight decay, AdamW (Loshchilov and Hutter 2019).
class Adam : public ListOptimizer {
 public:
  using Kernel = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                          at::TensorList, const at::Tensor&, double, double, double, double, bool, bool,
                          const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);

  Adam(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters, Kernel kernel, bool decoupled)
      : ListOptimizer(spec, parameters),
        average_(zeros_like_each(parameters)),
        square_average_(zeros_like_each(parameters)),
        kernel_(kernel),
        decoupled_(decoupled),
        on_processor_(std::all_of(parameters.begin(), parameters.end(), [](const at::Tensor& parameter) {
          return parameter.is_cpu() && parameter.scalar_type() == at::kFloat && parameter.is_contiguous();
        })) {
    for (const at::Tensor& parameter : parameters) {
      counts_.push_back(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(parameter.device())));
    }
  }

  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    if (on_processor_) {
      for (const size_t number : numbers) update_in_one_pass(number);
      return;
    }
    const auto parameters = chosen(parameters_, numbers);
    const auto counts = chosen(counts_, numbers);
    at::_foreach_add_(counts, 1);
    kernel_(parameters, gradients_of(parameters), chosen(average_, numbers), chosen(square_average_, numbers),
            {}, counts, learning_rate_, spec_.beta1, spec_.beta2, spec_.weight_decay, spec_.epsilon,
            /*amsgrad=*/false, /*maximize=*/false, {}, {});
  }

  std::vector<OptimizerMemory> memory() const override {
    return {{"average", average_}, {"square_average", square_average_}};
  }
  // The kernels keep a step count for each parameter, in device memory.
  void set_steps(int64_t steps) override {
    ListOptimizer::set_steps(steps);
    for (at::Tensor& count : counts_) count.fill_(steps);
  }

 private:
  // A quarter faster than LibTorch's kernel, which divides twice.
  void update_in_one_pass(size_t number) {
    constexpr int64_t kBlock = 8192;  // numbers: the work is cut in the same way for any number of threads
    const at::Tensor& parameter = parameters_[number];
    const at::Tensor gradient = parameter.grad().contiguous();
    float& count = *counts_[number].mutable_data_ptr<float>();
    const AdamStep step = {.learning_rate = learning_rate_.item<double>(),
                           .beta1 = spec_.beta1,
                           .beta2 = spec_.beta2,
                           .epsilon = spec_.epsilon,
                           .weight_decay = spec_.weight_decay,
                           .decoupled = decoupled_,
                           .step = ++count};
    const int64_t size = parameter.numel();
    run_ranges((size + kBlock - 1) / kBlock, /*grain=*/1, [&](int64_t first, int64_t last) {
      const int64_t begin = first * kBlock;
      adam_update(step, std::min(last * kBlock, size) - begin, parameter.mutable_data_ptr<float>() + begin,
                  gradient.const_data_ptr<float>() + begin,
                  average_[number].mutable_data_ptr<float>() + begin,
                  square_average_[number].mutable_data_ptr<float>() + begin);
    });
  }

  std::vector<at::Tensor> average_;
  std::vector<at::Tensor> square_average_;
  std::vector<at::Tensor> counts_;
  Kernel kernel_;
  bool decoupled_;
  bool on_processor_;  // float32 in plain memory
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
       return std::make_unique<Adam>(spec, parameters, static_cast<Adam::Kernel>(&at::_fused_adam_),
                                     /*decoupled=*/false);
     }},
    {"adamw",
     [](const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters) -> std::unique_ptr<Optimizer> {
       return std::make_unique<Adam>(spec, parameters, static_cast<Adam::Kernel>(&at::_fused_adamw_),
                                     /*decoupled=*/true);
     }},
};

}  // namespace

std::string memory_name(const std::string& memory, const std::string& parameter) {
  return "optimizer." + memory + "." + parameter;
}

void Optimizer::update() {
  if (size() == 0) return;  // kernels over lists reject empty lists
  std::vector<size_t> numbers(size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  update(numbers);
}

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
