// The learning rate of every optimizer step, and how it is derived.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "optim/plateau.h"
#include "optim/schedule.h"
#include "traits/objectives.h"

namespace dtrain {

// The rate is scaled relative to an explicit reference batch, never to a number of workers:
//   linear: rate x global_batch / reference_batch        (Goyal et al. 2017, arXiv:1706.02677, section 2.1)
//   sqrt:   rate x sqrt(global_batch / reference_batch)  (Krizhevsky 2014, arXiv:1404.5997, section 5)
struct LearningRate {
  double base = 0;    // from the spec
  double factor = 1;  // from the scaling rule
  double scaled = 0;  // base x factor: where warmup ends and the schedule starts
  int64_t warmup_steps = 0;
  ScheduleCurve curve;
  std::string derivation;  // "0.001 x 128/64 (linear) = 0.002; 0.0002 after 3 epochs (1,407 steps)"

  // The planned rate of optimizer step `step` (0-based): the schedule's rate times `factor`, and during
  // warmup also times (step + 1) / warmup_steps.
  double at(int64_t step) const;
};

LearningRate resolve_learning_rate(const TrainSpec& spec, int64_t global_batch, const RunSteps& steps);

// The learning rate during a run: the planned rate, and how evaluations have changed it.
class LearningRateSchedule {
 public:
  explicit LearningRateSchedule(const LearningRate& plan);

  double at(int64_t step) const { return plan_.at(step) * (plateau_ ? plateau_->factor() : 1.0); }
  // Call after each evaluation, with the same numbers on every replica.
  void on_evaluation(const MetricValues& metrics);

  // The state to save, which cannot be computed from the plan and the step. restore() continues exactly from
  // it and throws Error(kCheckpoint) if `state` is from another kind of schedule.
  nlohmann::ordered_json state() const;
  void restore(const nlohmann::ordered_json& state);

 private:
  LearningRate plan_;
  std::optional<PlateauWatch> plateau_;  // of a schedule that goes by evaluations
};

}  // namespace dtrain
