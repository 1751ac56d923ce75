// The forward pass and the loss of steps that LibTorch's autograd computes.
#pragma once

#include "models/model.h"
#include "objective/objective.h"
#include "spec/spec.h"
#include "step/step_execution.h"

namespace dtrain {

// The forward pass of one micro-batch.
struct ForwardPass {
  at::Tensor outputs;   // [n, ...]
  at::Tensor loss_sum;  // a scalar: the sum of the examples' losses
};

// The forward pass of training: in train.precision, with the training loss of `objective`. A step minimises
// loss_sum / share.global_examples, summed over micro-batches and replicas.
ForwardPass training_pass(Model& model, const TrainSpec& train, const Objective& objective,
                          const Batch& batch);

// The training loss of outputs [n, ...], a scalar: the sum of the losses; of a mixed example, of those of its
// two targets, each as much as its share.
at::Tensor loss_of_batch(const Objective& objective, const at::Tensor& outputs, const Batch& batch);

}  // namespace dtrain
