// Inspects one step: the gradients of each replica, the strategy's sum of them, and whether the two agree.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "callbacks/callbacks.h"
#include "strategy/strategy.h"

namespace dtrain {

// Computes each replica's gradient a second time, independently of the strategy, and sums these gradients
// over the replicas. Compares the sum with the strategy's combined gradient, and the updated parameters of
// the replicas with each other. Does not affect training: generators and moving statistics are restored. For
// synchronous strategies only. Every replica has one, and all make the same calls.
class StepInspection : public StepWatch {
 public:
  // `group` is for the inspection only, because the strategy's group may be in use. `tolerance`: how far two
  // sums of the same gradients may differ, relative to their norm. `step` (1-based over the run) is
  // inspected, and `sink` gets the results as an event of the run named `run`.
  StepInspection(std::shared_ptr<Model> model, const TrainSpec& train, std::unique_ptr<ProcessGroup> group,
                 double tolerance, int64_t step, std::string run, EventSink& sink);

  // Computes this replica's loss and gradient.
  void before_step(const Share& share, const StepContext& context) override;
  // Call after the gradients are combined and before the update.
  void look_at_gradients(const GradientReducer& reducer);
  // Throws Error(kBug) if the replicas do not agree with each other.
  void after_step(const Share& share, const StepContext& context) override;

 private:
  InspectEvent conclude(const Share& share);
  at::Tensor flat_parameters() const;
  std::vector<InspectedReplica> replica_rows(const Share& share, double weight_norm) const;

  std::shared_ptr<Model> model_;
  TrainSpec train_;
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<ProcessGroup> group_;
  double tolerance_;
  int64_t step_;
  std::string run_;
  EventSink& sink_;
  double loss_sum_ = 0;
  at::Tensor own_;     // this replica's gradient: float64 [parameters]
  at::Tensor shared_;  // the strategy's combined gradient, likewise
};

}  // namespace dtrain
