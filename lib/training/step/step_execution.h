// How a training step is computed. Where its variables are stored is the strategy's concern.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "core/step_clock.h"
#include "loader/batches.h"
#include "models/model.h"
#include "objective/metric_sums.h"
#include "objective/objective.h"
#include "spec/spec.h"
#include "step/loss_scale.h"
#include "step/replica_states.h"

namespace dtrain {

// The objects that the steps of one replica use. The clock is the reducer's.
struct StepParts {
  Model& model;
  ProcessGroup& group;
  GradientReducer& reducer;
  StepClock& clock;
  const TrainSpec& train;
  const Objective& objective;
  LossScale* loss_scale = nullptr;  // may be null
  bool on_processor = true;         // the variables are not in the memory of a device
  EvaluateSpec evaluate = {};
  VirtualReplicaStates* states = nullptr;  // strategy.virtual_replicas, else null
  // Called when the parameters have the gradient of the replica with this number among the own ones, unless
  // the reducer sums_early(); may be empty.
  std::function<void(size_t number)> on_replica = {};
};

class StepExecution {
 public:
  // `parts` must outlive this.
  explicit StepExecution(const StepParts& parts) : parts_(parts) {}
  virtual ~StepExecution() = default;

  // The part of a step before the update: forward, backward, gradients combined over the replicas. Every
  // example's training loss is divided by share.global_examples and multiplied by the loss scale. A share may
  // be empty. Reports to `summed`, unless it is empty, which gradients are ready (GradientReducer::finish).
  // Collective. Returns the sums of the share; with virtual replicas those of all shares.
  MetricSums gradients(const Share& share, const PartsSummed& summed);

  // Forward pass in evaluation mode without gradients. Returns the sums of the share, with the evaluation
  // loss; with virtual replicas, a row for each of its parts.
  MetricSums evaluate(const Share& share);

 protected:
  // The forward and backward passes of one part of a share. Every example's loss is multiplied by `weight`.
  virtual MetricSums pass(std::span<const MicroBatch> micro_batches, double weight) = 0;
  // Evaluates one part of a share.
  virtual MetricSums evaluate_part(std::span<const MicroBatch> micro_batches, bool keeps_rows);

  // The outputs of such a pass, in memory of their own.
  virtual at::Tensor evaluated(const at::Tensor& inputs) = 0;

  StepParts parts_;
};

// Computes steps on `parts`: by the plug-in's step, if train.loss names one; else compiled, if the variables
// are on the processor and reason_not_to_compile() is empty; else with autograd, operation by operation.
std::unique_ptr<StepExecution> make_step_execution(const StepParts& parts);
// By a program that is made once from the model's layers, for which reason_not_to_compile() must be empty.
// Such steps differ from those of autograd by rounding only: losses, metrics, what dropout draws and
// everything around them is the same. Evaluations are computed by programs, too.
std::unique_ptr<StepExecution> make_compiled_execution(const StepParts& parts);

// By a training step of a plug-in, which train.loss names. Every replica updates its parts when all gradients
// are there.
std::unique_ptr<StepExecution> make_plugin_execution(const StepParts& parts);

// The forward pass of one micro-batch.
struct ForwardPass {
  at::Tensor outputs;   // [n, ...]
  at::Tensor loss_sum;  // a scalar: the sum of the examples' losses
};

// The forward pass of training: in train.precision, with the training loss of `objective`. A step minimises
// loss_sum / share.global_examples, summed over micro-batches and replicas.
ForwardPass training_pass(Model& model, const TrainSpec& train, const Objective& objective,
                          const Batch& batch);

// The training loss of outputs [n, ...], a scalar: the sum of the examples' losses. The loss of a mixed
// example is the sum of the losses for its two targets, each times its share.
at::Tensor loss_of_batch(const Objective& objective, const at::Tensor& outputs, const Batch& batch);

}  // namespace dtrain
