// Training steps that a plug-in computes.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <set>

#include "models/parts_model.h"
#include "models/variables.h"
#include "plugins/plugin_kinds.h"
#include "step/step_execution.h"

namespace dtrain {
namespace {

class PluginExecution final : public StepExecution {
 public:
  explicit PluginExecution(const StepParts& parts)
      : StepExecution(parts),
        parameters_(tensors_of(trained_parameters(parts.model))),
        gradients_(parts.reducer.places_for_gradients()),
        step_(make_plugin_step(parts.train.loss, step_model(parts.model))) {
    if (gradients_.empty()) {
      for (const at::Tensor& parameter : parameters_)
        gradients_.push_back(at::empty_like(parameter.detach()));
    }
  }

  MetricSums pass(std::span<const MicroBatch> micro_batches, double weight) override {
    parts_.model.train();
    parts_.reducer.prepare(/*last=*/true);
    for (at::Tensor& gradient : gradients_) gradient.zero_();
    MetricSums sums;
    for (const MicroBatch& micro_batch : micro_batches) {
      const Batch batch = micro_batch.assemble();
      if (batch.size() > 0) learn(batch, weight, sums);
    }
    for (size_t i = gradients_.size(); i-- > 0;) parts_.reducer.put_gradient(i, gradients_[i]);
    return sums;
  }

  MetricSums evaluate_part(std::span<const MicroBatch> micro_batches, bool /*keeps_rows*/) override {
    const KeptGenerator kept;
    parts_.model.eval();
    MetricSums sums;
    for (const MicroBatch& micro_batch : micro_batches) {
      const Batch batch = micro_batch.assemble();
      if (batch.size() > 0) add_sums(compute(batch), batch.size(), sums);
    }
    return sums;
  }

 private:
  StepResult compute(const Batch& batch) {
    return compute_step(parts_.train.loss, *step_, {batch.inputs, batch.targets});
  }

  // Adds the gradients of `weight` times the losses of a micro-batch, and its sums.
  void learn(const Batch& batch, double weight, MetricSums& sums) {
    const StepResult result = compute(batch);
    for (const StepLoss& loss : result.losses) add_gradients(loss, weight);
    const at::NoGradGuard no_grad;
    for (const auto& [parameter, gradient] : result.gradients) {
      for (const size_t number : trained_numbers({parameter})) {
        if (!gradient.defined() || gradient.sizes() != parameter.sizes())
          fail("gives a gradient that has not the shape of its parameter");
        gradients_[number].add_(gradient, weight);
      }
    }
    add_sums(result, batch.size(), sums);
  }

  void add_gradients(const StepLoss& loss, double weight) {
    const std::vector<size_t> numbers =
        trained_numbers(loss.parameters.empty() ? parameters_ : loss.parameters);
    if (numbers.empty()) return;
    if (!loss.sum.requires_grad()) fail("gives a loss that depends on no parameter: it is detached");
    std::vector<at::Tensor> trained;
    for (const size_t number : numbers) trained.push_back(parameters_[number]);
    // Several losses may be made from the same passes.
    const std::vector<at::Tensor> gradients = call_step(parts_.train.loss, [&] {
      return torch::autograd::grad({loss.sum}, trained, {at::full_like(loss.sum, weight)},
                                   /*retain_graph=*/true, /*create_graph=*/false, /*allow_unused=*/true);
    });
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (gradients[i].defined()) gradients_[numbers[i]].add_(gradients[i]);
    }
  }

  // Each once, also where a module is in two places, and without those that are frozen.
  std::vector<size_t> trained_numbers(const std::vector<at::Tensor>& parameters) const {
    std::set<size_t> numbers;
    for (const at::Tensor& parameter : parameters) {
      if (parameter.defined() && !parameter.requires_grad()) continue;
      const auto found = std::ranges::find_if(
          parameters_, [&](const at::Tensor& other) { return other.is_same(parameter); });
      if (found == parameters_.end())
        fail("gives a loss or gradient of a tensor that is no parameter of the model");
      numbers.insert(static_cast<size_t>(found - parameters_.begin()));
    }
    return {numbers.begin(), numbers.end()};
  }

  [[noreturn]] void fail(const char* why) const {
    throw Error(ExitCode::kUsage, "the step '{}' of a plug-in {}", parts_.train.loss.kind, why);
  }

  void add_sums(const StepResult& result, int64_t examples, MetricSums& sums) const {
    at::Tensor all = at::zeros({2 + std::ssize(result.metrics)}, at::kDouble);
    auto* const values = all.mutable_data_ptr<double>();
    for (const StepLoss& loss : result.losses) values[kLossSum] += loss.sum.item<double>();
    values[kExamplesSum] = static_cast<double>(examples);
    for (size_t i = 0; i < result.metrics.size(); ++i) values[2 + i] = result.metrics[i].item<double>();
    sums.add_sums(parts_.objective.info(), all.to(parameters_.front().device()));
  }

  at::Tensor evaluated(const at::Tensor& inputs) override { return parts_.model.forward(inputs); }

  std::vector<at::Tensor> parameters_;  // those that are trained
  std::vector<at::Tensor> gradients_;   // of each
  std::unique_ptr<TrainingStep> step_;
};

}  // namespace

std::unique_ptr<StepExecution> make_plugin_execution(const StepParts& parts) {
  return std::make_unique<PluginExecution>(parts);
}

}  // namespace dtrain
