// Adam (Kingma and Ba 2015) and, with decoupled weight decay, AdamW (Loshchilov and Hutter 2019).
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "kernels/adam.h"
#include "optim/list_optimizer.h"
#include "optim/optimizer_kinds.h"
#include "parallel/parallel_blocks.h"
#include "spec/optimizer_kinds.h"

namespace dtrain {
namespace {

bool is_decoupled(const OptimizerSpec& spec) { return optimizer_kind(spec.kind).decouples_decay; }

class Adam : public ListOptimizer {
 public:
  Adam(const OptimizerSpec& spec, const std::vector<at::Tensor>& parameters)
      : ListOptimizer(spec, parameters, memory_of(spec)),
        own_(spec.own.get<AdamFields>()),
        decoupled_(is_decoupled(spec)),
        on_processor_(std::ranges::all_of(parameters, [](const at::Tensor& parameter) {
          return parameter.is_cpu() && parameter.scalar_type() == at::kFloat && parameter.is_contiguous();
        })) {
    for (const at::Tensor& parameter : parameters)
      counts_.push_back(at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(parameter.device())));
  }

  void update(const std::vector<size_t>& numbers) override {
    const at::NoGradGuard no_grad;
    if (on_processor_) {
      for (const size_t number : numbers) update_in_one_pass(number);
      return;
    }
    const auto counts = chosen(counts_, numbers);
    at::_foreach_add_(counts, 1);
    const auto fused =
        decoupled_ ? static_cast<Kernel>(&at::_fused_adamw_) : static_cast<Kernel>(&at::_fused_adam_);
    const auto kernel = [&](const auto& parameters, const auto& gradients, const auto& rate, double decay,
                            const Pieces& pieces) {
      fused(parameters, gradients, pieces.of(remembered(0, numbers)), pieces.of(remembered(1, numbers)), {},
            pieces.repeated(counts), rate, own_.beta1, own_.beta2, decay, own_.epsilon, /*amsgrad=*/false,
            /*maximize=*/false, {}, {});
    };
    update_by(kernel, numbers, decoupled_);
  }

  // The kernels keep a step count for each parameter, in device memory.
  void set_steps(int64_t steps) override {
    ListOptimizer::set_steps(steps);
    for (at::Tensor& count : counts_) count.fill_(steps);
  }

  static std::vector<std::string> memory_of(const OptimizerSpec&) { return {kAverage, kSquareAverage}; }

  // c = max(1, (1 - beta1) / sqrt((1 - beta2) (1 - beta1^2 / beta2))) where beta1^2 < beta2. By the
  // Cauchy-Schwarz inequality (sum_i a_i g_i)^2 <= (sum_i a_i^2 / b_i) (sum_i b_i g_i^2), for
  // a_i = (1 - beta1) beta1^i and b_i = (1 - beta2) beta2^i; in the first step both corrected averages are of
  // one gradient, and c = 1. (Kingma and Ba 2015, section 2.1, give (1 - beta1) / sqrt(1 - beta2) for a
  // gradient that comes once.)
  static LargestStep largest_step(const OptimizerSpec& spec, double) {
    const auto& own = spec.own.get<AdamFields>();
    const double ratio = own.beta1 == 0 ? 0 : own.beta1 * own.beta1 / own.beta2;
    if (own.epsilon < kLeastEpsilon || !(ratio < 1)) return {};
    return {std::max(1.0, (1 - own.beta1) / std::sqrt((1 - own.beta2) * (1 - ratio)))};
  }

  static WriteUpdate lower(const OptimizerSpec& spec, const Value& step, const Value& learning_rate) {
    const AdamFields own = spec.own.get<AdamFields>();
    const bool decoupled = is_decoupled(spec);
    TextBuilder& builder = *step.builder;
    // The learning rate and the root's factor, corrected for the averages' start at 0.
    const Value rate = learning_rate / start_correction(step, own.beta1);
    const Value factor = builder.apply("rsqrt", start_correction(step, own.beta2));
    return [=, &builder](UpdatedParameter& one) {
      const Value gradient = decoupled ? one.gradient : with_decay(spec, one, one.gradient);
      Value& average = one.memory.at(kAverage);
      Value& squares = one.memory.at(kSquareAverage);
      average = average + (gradient - average) * (1 - own.beta1);
      const Value square = gradient * gradient * (1 - own.beta2);
      squares = squares * own.beta2 + square;
      const bool shrinks = decoupled && spec.weight_decay != 0 && one.decays;
      const Value kept = shrinks ? one.parameter * (1 - learning_rate * spec.weight_decay) : one.parameter;
      const Value root = builder.apply("sqrt", squares) * factor + own.epsilon;
      one.parameter = kept - rate * average / root;
    };
  }

 private:
  using Kernel = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                          at::TensorList, const at::Tensor&, double, double, double, double, bool, bool,
                          const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);

  // A quarter faster than LibTorch's kernel, which divides twice.
  void update_in_one_pass(size_t number) {
    constexpr int64_t kBlock = 8192;  // numbers: the work is cut in the same way for any number of threads
    const at::Tensor& parameter = parameters_[number];
    const at::Tensor gradient = parameter.grad().contiguous();
    float& count = *counts_[number].mutable_data_ptr<float>();
    const AdamStep step = {.learning_rate = learning_rate_.item<double>(),
                           .beta1 = own_.beta1,
                           .beta2 = own_.beta2,
                           .epsilon = own_.epsilon,
                           .weight_decay = weight_decay_,
                           .decoupled = decoupled_,
                           .step = ++count};
    const int64_t size = parameter.numel();
    run_ranges((size + kBlock - 1) / kBlock, /*grain=*/1, [&](int64_t first, int64_t last) {
      const int64_t begin = first * kBlock;
      adam_update(step, std::min(last * kBlock, size) - begin, parameter.mutable_data_ptr<float>() + begin,
                  gradient.const_data_ptr<float>() + begin,
                  memory_[0].tensors[number].mutable_data_ptr<float>() + begin,
                  memory_[1].tensors[number].mutable_data_ptr<float>() + begin);
    });
  }

  AdamFields own_;
  std::vector<at::Tensor> counts_;
  bool decoupled_;
  bool on_processor_;  // float32 in plain memory
};

}  // namespace

OptimizerMethod adam_method() { return optimizer_method_of<Adam>("adam"); }

OptimizerMethod adamw_method() { return optimizer_method_of<Adam>("adamw"); }

}  // namespace dtrain
