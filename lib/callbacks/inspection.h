// A look at one step from outside: what each replica brings to it, what comes out, and whether the two agree.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "data/batches.h"
#include "metrics/events.h"
#include "models/model.h"
#include "strategy/strategy.h"

namespace dtrain {

// Computes each replica's gradient once more, by itself, sums these gradients over the replicas, and compares
// the sum with what the strategy made of them, and the updated parameters of the replicas with each other.
// Training goes on as if it had not looked: generators and moving statistics are put back. Of synchronous
// strategies only. Every replica has one and calls it alike.
class StepInspection {
 public:
  // `group` is for the inspection alone: the strategy's may be in the midst of something. `tolerance`: how
  // far two sums of the same gradients may differ, relative to their norm.
  StepInspection(std::shared_ptr<Model> model, const TrainSpec& train, std::unique_ptr<ProcessGroup> group,
                 double tolerance);

  // Before the step: this replica's loss and gradient.
  void look_at_share(const Share& share);
  // Between the combination of the gradients and the update.
  void look_at_gradients(const GradientReducer& reducer);
  // After the step. Returns `event` with all that is known of `step` (1-based over the run).
  InspectEvent conclude(InspectEvent event, int64_t step, const Share& share);

 private:
  at::Tensor flat_parameters() const;
  std::vector<InspectedReplica> replica_rows(const Share& share, double weight_norm) const;

  std::shared_ptr<Model> model_;
  TrainSpec train_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<ProcessGroup> group_;
  double tolerance_;
  double loss_sum_ = 0;
  at::Tensor own_;     // this replica's gradient: float64 [parameters]
  at::Tensor shared_;  // the strategy's, of all replicas, likewise
};

// The strategy `inner`, looked at in step `step` (1-based over the run).
std::unique_ptr<Strategy> make_inspected(std::unique_ptr<Strategy> inner,
                                         std::shared_ptr<StepInspection> inspection, int64_t step,
                                         InspectEvent event, EventSink& sink);

}  // namespace dtrain
