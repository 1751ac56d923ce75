// The training step that the LibTorch strategies share: forward, backward with gradients combined meanwhile,
// update.
#pragma once

#include <functional>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "core/phase_clock.h"
#include "data/batches.h"
#include "models/model.h"
#include "optim/optimizer.h"
#include "step/loss_scale.h"
#include "step/metric_sums.h"

namespace dtrain {

// Called in every step when the gradients are combined and nothing is updated yet. It may use the group.
using GradientObserver = std::function<void(const GradientReducer&, ProcessGroup&)>;

// What the steps of one replica work with. The clock is that of the reducer.
struct StepParts {
  Model& model;
  ProcessGroup& group;
  GradientReducer& reducer;
  PhaseClock& clock;
  const TrainSpec& train;
  LossScale* loss_scale = nullptr;  // may lack
};

// The forward pass of one micro-batch.
struct ForwardPass {
  at::Tensor logits;    // [n, classes]
  at::Tensor loss_sum;  // a scalar: the sum of the examples' cross-entropies
};

// As training makes it: in train.precision, with train.label_smoothing. What a step minimises is its loss_sum
// / share.global_examples, summed over micro-batches and replicas.
ForwardPass training_pass(Model& model, const TrainSpec& train, const Batch& batch);

// The part of a step before the update: forward, backward, gradients combined. Every example's loss is
// divided by share.global_examples and multiplied by the loss scale. Tells `summed`, unless it is empty,
// which gradients are there (GradientReducer::finish). Returns the sums of the share.
MetricSums eager_gradients(const StepParts& parts, const Share& share, const PartsSummed& summed = {});

// Divides the combined gradient by the loss scale, if there is one. False when it is not finite: then there
// is no update. Collective, the same on all replicas.
bool eager_unscale(const StepParts& parts);

// Between the two: clips the norm of the combined gradient, if the spec says so. Collective.
void eager_clip(const StepParts& parts);

// One optimizer step, after Optimizer::begin_step. Every example's loss is divided by the number of examples
// of the *global* step, and gradients are summed over micro-batches and replicas, so N replicas with batch B
// equal one replica with batch N*B whatever the sizes of the shares. A replica whose share is empty takes
// part with empty micro-batches. `before_update` may be empty. What has its gradient is updated while other
// gradients are on their way between hosts, unless something asks for the whole gradient before.
MetricSums eager_train_step(const StepParts& parts, Optimizer& optimizer,
                            const GradientObserver& before_update, const Share& share);

// Forward pass in evaluation mode without gradients.
MetricSums eager_evaluate(Model& model, const Share& share);

}  // namespace dtrain
