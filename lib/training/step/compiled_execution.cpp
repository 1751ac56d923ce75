#include <ATen/ATen.h>

#include <map>
#include <vector>

#include "compiled/compiled_program.h"
#include "step/step_execution.h"

namespace dtrain {
namespace {

class CompiledExecution : public StepExecution {
 public:
  explicit CompiledExecution(const StepParts& parts)
      : StepExecution(parts), gradients_(parts.reducer.places_for_gradients()) {
    if (gradients_.empty()) gradients_ = allocate_gradients(parts.model);
  }

  MetricSums pass(std::span<const MicroBatch> micro_batches, double weight) override {
    MetricSums sums;
    const GradientReady put = [this](size_t parameter) {
      parts_.reducer.put_gradient(parameter, gradients_[parameter]);
    };
    const size_t count = micro_batches.size();
    for (size_t i = 0; i < count; ++i) {
      const Batch batch = micro_batches[i].assemble();
      const bool last = i + 1 == count;
      parts_.reducer.prepare(last);
      const at::Tensor inputs = batch.inputs.contiguous();
      Program& program = program_for(programs_, batch.size(), gradients_);
      add_loss(batch, program.forward(inputs), weight, program.output_gradient(), sums);
      program.backward(/*adds=*/i > 0, last ? put : GradientReady());
    }
    if (count == 0) {
      for (size_t parameter = gradients_.size(); parameter-- > 0;) {
        gradients_[parameter].zero_();
        put(parameter);
      }
    }
    return sums;
  }

 private:
  using Programs = std::map<int64_t, Program>;  // by the number of examples

  // For the few sizes that occur: whole micro-batches, and the last ones of an epoch. All have the memory of
  // the largest: before a larger one is made, the others are given back.
  template <class... Gradients>
  Program& program_for(Programs& programs, int64_t examples, const Gradients&... gradients) {
    if (!programs.empty() && programs.rbegin()->first < examples) programs.clear();
    const at::Tensor memory = programs.empty() ? at::Tensor() : programs.rbegin()->second.memory();
    return programs.try_emplace(examples, parts_.model, examples, gradients..., memory).first->second;
  }

  // The sums of a batch, and the gradient of its outputs; every example's loss is multiplied by `weight`.
  // Where the loss has no kernel, autograd makes the gradient as in eager steps, and sees the outputs only.
  void add_loss(const Batch& batch, const at::Tensor& outputs, double weight, at::Tensor gradient,
                MetricSums& sums) const {
    if (!batch.is_mixed()) {
      if (const auto own = parts_.objective.run_kernel(outputs, batch.targets, weight, gradient)) {
        sums.add_sums(parts_.objective.info(), *own);
        return;
      }
    }
    const at::Tensor leaf = outputs.detach().requires_grad_();
    const at::Tensor loss_sum = loss_of_batch(parts_.objective, leaf, batch);
    loss_sum.backward(at::full_like(loss_sum, weight));
    gradient.copy_(leaf.grad());
    sums.add_batch(parts_.objective, leaf, batch.targets, loss_sum);
  }

  at::Tensor evaluated(const at::Tensor& inputs) override {
    Program& program = program_for(evaluations_, inputs.size(0));
    return program.forward(inputs.contiguous()).clone();  // its memory is that of the next pass
  }

  std::vector<at::Tensor> gradients_;  // of each parameter
  Programs programs_;
  Programs evaluations_;
};

}  // namespace

std::unique_ptr<StepExecution> make_compiled_execution(const StepParts& parts) {
  return std::make_unique<CompiledExecution>(parts);
}

}  // namespace dtrain
