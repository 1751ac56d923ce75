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
      Program& program = program_for(batch.size());
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
  // For the few sizes that occur: whole micro-batches, and the last ones of an epoch.
  Program& program_for(int64_t examples) {
    std::unique_ptr<Program>& program = programs_[examples];
    if (!program) program = std::make_unique<Program>(parts_.model, examples, gradients_);
    return *program;
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
    std::unique_ptr<Program>& program = evaluations_[inputs.size(0)];
    if (!program) program = std::make_unique<Program>(parts_.model, inputs.size(0));
    return program->forward(inputs.contiguous()).clone();  // its memory is that of the next pass
  }

  std::vector<at::Tensor> gradients_;  // of each parameter
  // By the number of examples.
  std::map<int64_t, std::unique_ptr<Program>> programs_;
  std::map<int64_t, std::unique_ptr<Program>> evaluations_;
};

}  // namespace

std::unique_ptr<StepExecution> make_compiled_execution(const StepParts& parts) {
  return std::make_unique<CompiledExecution>(parts);
}

}  // namespace dtrain
