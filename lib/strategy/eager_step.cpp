#include "strategy/eager_step.h"

#include <ATen/ATen.h>

#include "comm/failure.h"

namespace dtrain {
namespace {

// Gradients of zero for every parameter, through autograd so that a reducer sees them become ready.
at::Tensor zero_objective(const Model& model) {
  at::Tensor total;
  for (const at::Tensor& parameter : model.parameters()) {
    const at::Tensor zero = (parameter * 0).sum();
    total = total.defined() ? total + zero : zero;
  }
  return total;
}

// Waits for peers inside: the last buckets arrive before backward returns.
void backward(const at::Tensor& objective) {
  with_peer_errors("summing gradients", [&] { objective.backward(); });
}

}  // namespace

at::Tensor summed_loss(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits, targets, /*weight=*/{}, at::Reduction::Sum);
}

MetricSums eager_gradients(Model& model, GradientReducer& reducer, PhaseClock& clock, const Share& share) {
  clock.enter(Phase::kCompute);
  MetricSums sums;
  model.train();
  reducer.zero_gradients();
  const size_t count = share.micro_batches.size();
  for (size_t i = 0; i < count; ++i) {
    const Batch& batch = share.micro_batches[i];
    reducer.prepare(/*last=*/i + 1 == count);
    const at::Tensor logits = model.forward(batch.inputs);
    const at::Tensor loss_sum = summed_loss(logits, batch.targets);
    backward(loss_sum / share.global_examples);
    clock.enter(Phase::kCompute);  // a reducer that overlaps has left it
    sums.add_batch(logits, batch.targets, loss_sum);
  }
  if (count == 0) {
    reducer.prepare(/*last=*/true);
    backward(zero_objective(model));
  }
  clock.enter(Phase::kCommunicate);
  reducer.finish();
  return sums;
}

MetricSums eager_train_step(Model& model, GradientReducer& reducer, Optimizer& optimizer, PhaseClock& clock,
                            const GradientObserver& before_update, const Share& share, double learning_rate) {
  MetricSums sums = eager_gradients(model, reducer, clock, share);
  if (before_update) before_update(reducer);
  clock.enter(Phase::kUpdate);
  optimizer.step(learning_rate);
  clock.enter(Phase::kCommunicate);
  reducer.share_update();
  clock.enter(Phase::kUpdate);
  return sums;
}

MetricSums eager_evaluate(Model& model, const Share& share) {
  const at::NoGradGuard no_grad;
  MetricSums sums;
  model.eval();
  for (const Batch& batch : share.micro_batches) {
    const at::Tensor logits = model.forward(batch.inputs);
    sums.add_batch(logits, batch.targets, summed_loss(logits, batch.targets));
  }
  return sums;
}

}  // namespace dtrain
