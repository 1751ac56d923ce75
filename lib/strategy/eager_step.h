// The training step that the LibTorch strategies share: forward, backward with gradients combined meanwhile,
// update.
#pragma once

#include "comm/gradient_reducer.h"
#include "core/phase_clock.h"
#include "data/batches.h"
#include "models/model.h"
#include "optim/optimizer.h"
#include "strategy/metric_sums.h"
#include "strategy/strategy.h"

namespace dtrain {

// The sum of a batch's cross-entropies: logits [n, classes], targets int64 [n]; a scalar in the model's type.
at::Tensor summed_loss(const at::Tensor& logits, const at::Tensor& targets);

// The part of a step before the update: forward, backward, gradients combined. Every example's loss is
// divided by share.global_examples. Returns the sums of the share.
MetricSums eager_gradients(Model& model, GradientReducer& reducer, PhaseClock& clock, const Share& share);

// One optimizer step. Every example's loss is divided by the number of examples of the *global* step, and
// gradients are summed over micro-batches and replicas, so N replicas with batch B equal one replica with
// batch N*B whatever the sizes of the shares. A replica whose share is empty takes part with gradients of
// zero. `clock` is that of the reducer; `before_update` may be empty.
MetricSums eager_train_step(Model& model, GradientReducer& reducer, Optimizer& optimizer, PhaseClock& clock,
                            const GradientObserver& before_update, const Share& share, double learning_rate);

// Forward pass in evaluation mode without gradients.
MetricSums eager_evaluate(Model& model, const Share& share);

}  // namespace dtrain
