// How a training step is computed. Where its variables are stored is the strategy's concern.
#pragma once

#include <memory>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "core/step_clock.h"
#include "loader/batches.h"
#include "models/model.h"
#include "objective/metric_sums.h"
#include "step/loss_scale.h"

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
};

class StepExecution {
 public:
  virtual ~StepExecution() = default;

  // The part of a step before the update: forward, backward, gradients combined over the replicas. Every
  // example's training loss is divided by share.global_examples and multiplied by the loss scale. A share may
  // be empty. Reports to `summed`, unless it is empty, which gradients are ready (GradientReducer::finish).
  // Collective. Returns the sums of the share.
  virtual MetricSums gradients(const Share& share, const PartsSummed& summed) = 0;

  // Forward pass in evaluation mode without gradients. Returns the sums of the share, with the evaluation
  // loss.
  virtual MetricSums evaluate(const Share& share) = 0;
};

// Computes steps on `parts`, which must outlive it: compiled if the variables are on the processor and
// reason_not_to_compile() has none, else with autograd, operation by operation.
std::unique_ptr<StepExecution> make_step_execution(const StepParts& parts);
// With LibTorch's autograd, operation by operation.
std::unique_ptr<StepExecution> make_eager_execution(const StepParts& parts);
// By a program that is made once from the model's layers, for which reason_not_to_compile() must be empty.
// Such steps differ from those of autograd by rounding only: losses, metrics, what dropout draws and
// everything around them is the same. Evaluations are computed by programs, too.
std::unique_ptr<StepExecution> make_compiled_execution(const StepParts& parts);

}  // namespace dtrain
