#include "step/eager_step.h"

#include <ATen/ATen.h>

#include <cmath>

#include "step/autocast.h"
#include "step/clipping.h"
#include "store/peer_errors.h"

namespace dtrain {
namespace {

at::Tensor summed_loss(const at::Tensor& logits, const at::Tensor& targets, double label_smoothing) {
  return at::cross_entropy_loss(logits, targets, /*weight=*/{}, at::Reduction::Sum, /*ignore_index=*/-100,
                                label_smoothing);
}

// Of `weight` * loss_sum. May wait for the peers on this host: buckets are summed as soon as they are full.
void backward(const at::Tensor& loss_sum, double weight) {
  with_peer_errors("summing gradients", [&] { loss_sum.backward(at::full_like(loss_sum, weight)); });
}

}  // namespace

ForwardPass training_pass(Model& model, const TrainSpec& train, const Batch& batch) {
  at::Tensor logits;
  {
    const Autocast in_16_bits(batch.inputs.device().type(), compute_type(train.precision));
    logits = model.forward(batch.inputs);
  }
  logits = logits.to(batch.inputs.scalar_type());  // the loss is a sum over many
  return {logits, summed_loss(logits, batch.targets, train.label_smoothing)};
}

MetricSums eager_gradients(const StepParts& parts, const Share& share, const PartsSummed& summed) {
  parts.clock.enter(Phase::kCompute);
  MetricSums sums;
  parts.model.train();
  parts.reducer.zero_gradients();
  const double scale = parts.loss_scale ? parts.loss_scale->value() : 1;
  const size_t count = share.micro_batches.size();
  for (size_t i = 0; i < count; ++i) {
    const Batch batch = share.micro_batches[i].assemble();
    parts.reducer.prepare(/*last=*/i + 1 == count);
    const ForwardPass pass = training_pass(parts.model, parts.train, batch);
    backward(pass.loss_sum, scale / static_cast<double>(share.global_examples));
    sums.add_batch(pass.logits, batch.targets, pass.loss_sum);
  }
  parts.clock.enter(Phase::kCommunicate);
  parts.reducer.finish(summed);
  return sums;
}

bool eager_unscale(const StepParts& parts) {
  if (parts.loss_scale == nullptr) return true;
  const double scale = parts.loss_scale->value();
  const at::Tensor norm = gradient_norm(parts.reducer, parts.group);
  const bool finite = std::isfinite(norm.item<double>());
  if (finite) scale_gradient(parts.reducer, at::full_like(norm, 1 / scale));
  parts.loss_scale->update(finite);
  return finite;
}

void eager_clip(const StepParts& parts) {
  if (parts.train.clip_norm == 0) return;
  const at::Tensor norm = gradient_norm(parts.reducer, parts.group);
  scale_gradient(parts.reducer, clipping_factor(norm, parts.train.clip_norm));
}

MetricSums eager_train_step(const StepParts& parts, Optimizer& optimizer,
                            const GradientObserver& before_update, const Share& share) {
  const auto update = [&](const auto&... numbers) {
    parts.clock.enter(Phase::kUpdate);
    optimizer.update(numbers...);
    parts.clock.enter(Phase::kCommunicate);
  };
  const bool whole_first = parts.loss_scale != nullptr || parts.train.clip_norm != 0 || before_update;
  MetricSums sums = eager_gradients(parts, share, whole_first ? PartsSummed() : update);
  if (whole_first) {
    if (!eager_unscale(parts)) {
      optimizer.set_steps(optimizer.steps() - 1);  // what was begun is not made
      parts.clock.enter(Phase::kUpdate);
      return sums;
    }
    if (before_update) before_update(parts.reducer, parts.group);
    eager_clip(parts);
    update();
  }
  parts.reducer.share_update();
  parts.clock.enter(Phase::kUpdate);
  return sums;
}

MetricSums eager_evaluate(Model& model, const Share& share) {
  const at::NoGradGuard no_grad;
  MetricSums sums;
  model.eval();
  for (const MicroBatch& micro_batch : share.micro_batches) {
    const Batch batch = micro_batch.assemble();
    const at::Tensor logits = model.forward(batch.inputs);
    sums.add_batch(logits, batch.targets, summed_loss(logits, batch.targets, /*label_smoothing=*/0));
  }
  return sums;
}

}  // namespace dtrain
