#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/util/ScopeExit.h>

#include <vector>

#include "compiled/compiled_program.h"
#include "objective/objective.h"
#include "step/step_execution.h"
#include "store/store.h"

namespace dtrain {
namespace {

// Runs the backward pass from `outputs`, whose gradient is given. May wait for peers on this host: buckets
// are summed as soon as they are full.
void backward(const at::Tensor& outputs, const at::Tensor& gradient) {
  with_peer_errors("summing gradients", [&] { outputs.backward(gradient); });
}

// In full precision, because the loss sums many numbers. With 16 bits, the forward pass converts the inputs
// and weights of convolutions and dense layers; the weights themselves are not changed.
at::Tensor training_outputs(Model& model, const TrainSpec& train, const Batch& batch) {
  const at::DeviceType device = batch.inputs.device().type();
  const auto compute = [&] {
    if (train.precision == "float32") return model.forward(batch.inputs);
    at::autocast::set_autocast_dtype(device, train.precision == "bf16_mixed" ? at::kBFloat16 : at::kHalf);
    at::autocast::set_autocast_enabled(device, true);
    const auto end = c10::make_scope_exit([device] {
      at::autocast::set_autocast_enabled(device, false);
      at::autocast::clear_cache();  // of converted weights: an update follows
    });
    return model.forward(batch.inputs);
  };
  return compute().to(batch.inputs.scalar_type());
}

class EagerExecution : public StepExecution {
 public:
  using StepExecution::StepExecution;

  MetricSums pass(std::span<const MicroBatch> micro_batches, double weight) override {
    MetricSums sums;
    parts_.model.train();
    for (size_t i = 0; i < micro_batches.size(); ++i) {
      const Batch batch = micro_batches[i].assemble();
      parts_.reducer.prepare(/*last=*/i + 1 == micro_batches.size());
      learn(batch, weight, sums);
    }
    return sums;
  }

 private:
  // The backward pass of `weight` times the loss of one micro-batch, whose sums it adds.
  void learn(const Batch& batch, double weight, MetricSums& sums) {
    const at::Tensor outputs = training_outputs(parts_.model, parts_.train, batch);
    // A loss scale changes the weight from step to step.
    if (!parts_.on_processor && !batch.is_mixed() && parts_.loss_scale == nullptr) {
      const DevicePass pass = parts_.objective.device_pass(outputs.detach(), batch.targets, weight);
      if (pass.gradient.defined()) {
        backward(outputs, pass.gradient);
        return sums.add_sums(parts_.objective.info(), pass.sums);
      }
    }
    const at::Tensor loss_sum = loss_of_batch(parts_.objective, outputs, batch);
    backward(loss_sum, at::full_like(loss_sum, weight));
    sums.add_batch(parts_.objective, outputs, batch.targets, loss_sum);
  }

  at::Tensor evaluated(const at::Tensor& inputs) override {
    parts_.model.eval();
    return parts_.model.forward(inputs);
  }
};

}  // namespace

MetricSums StepExecution::gradients(const Share& share, const PartsSummed& summed) {
  parts_.clock.enter(StepTime::kCompute);
  const double scale = parts_.loss_scale ? parts_.loss_scale->value() : 1;
  MetricSums sums;
  const at::Tensor rows = parts_.reducer.rows();
  for (size_t i = 0; i < share.parts; ++i) {
    if (parts_.states != nullptr) parts_.states->begin_replica(i);
    parts_.reducer.zero_gradients();
    sums = pass(share.part(i), scale / static_cast<double>(share.global_examples));
    if (parts_.states != nullptr) parts_.states->end_replica(i, sums.values(), rows);
    if (parts_.on_replica && !parts_.reducer.sums_early()) parts_.on_replica(i);
    parts_.reducer.end_replica();
  }
  parts_.clock.enter(StepTime::kCommunicate);
  parts_.reducer.finish(summed);
  if (parts_.states == nullptr) return sums;
  MetricSums of_all;
  of_all.add_sums(parts_.objective.info(), parts_.states->end_step(rows));
  return of_all;
}

MetricSums StepExecution::evaluate(const Share& share) {
  const at::NoGradGuard no_grad;
  std::vector<MetricSums> sums;
  for (size_t i = 0; i < share.parts; ++i) {
    sums.push_back(evaluate_part(share.part(i), share.keeps_rows));
    if (parts_.states != nullptr) sums.back().add({parts_.objective.info(), parts_.model.outputs()});
  }
  return parts_.states == nullptr ? std::move(sums.front()) : MetricSums::rows_of(std::move(sums));
}

MetricSums StepExecution::evaluate_part(std::span<const MicroBatch> micro_batches, bool keeps_rows) {
  MetricSums sums;
  for (const MicroBatch& micro_batch : micro_batches) {
    const Batch batch = micro_batch.assemble();
    const at::Tensor outputs =
        evaluated_outputs(parts_.objective, parts_.evaluate, batch.inputs,
                          [this](const at::Tensor& inputs) { return evaluated(inputs); });
    sums.add_evaluated(parts_.objective, outputs, batch.targets, keeps_rows);
  }
  return sums;
}

at::Tensor loss_of_batch(const Objective& objective, const at::Tensor& outputs, const Batch& batch) {
  if (!batch.is_mixed()) return objective.training_loss(outputs, batch.targets);
  const at::Tensor losses = objective.training_losses(outputs, batch.targets);
  const at::Tensor shares = batch.shares.to(losses.scalar_type());  // those of a plug-in may be float64
  return at::dot(losses, shares) +
         at::dot(objective.training_losses(outputs, batch.other_targets), 1 - shares);
}

ForwardPass training_pass(Model& model, const TrainSpec& train, const Objective& objective,
                          const Batch& batch) {
  const at::Tensor outputs = training_outputs(model, train, batch);
  return {outputs, loss_of_batch(objective, outputs, batch)};
}

std::unique_ptr<StepExecution> make_step_execution(const StepParts& parts) {
  if (parts.objective.info().is_step) return make_plugin_execution(parts);
  const std::vector<at::Tensor> parameters = parts.model.parameters();
  const bool is_double = !parameters.empty() && parameters.front().scalar_type() == at::kDouble;
  const bool compiles =
      parts.on_processor && reason_not_to_compile(parts.model.layers(), is_double ? "float64" : "float32",
                                                  parts.train, static_cast<size_t>(parts.model.first_layer()))
                                .empty();
  if (compiles) return make_compiled_execution(parts);
  return std::make_unique<EagerExecution>(parts);
}

}  // namespace dtrain
