// The learning rate of every optimizer step, and how it came about.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "kinds/objectives.h"
#include "optim/plateau.h"
#include "optim/schedule.h"
#include "spec/spec.h"

namespace dtrain {

// Scaling against an explicit reference batch, never against a number of workers:
//   linear: rate x global_batch / reference_batch        (Goyal et al. 2017, arXiv:1706.02677, section 2.1)
//   sqrt:   rate x sqrt(global_batch / reference_batch)  (Krizhevsky 2014, arXiv:1404.5997, section 5)
struct LearningRate {
  double base = 0;    // as the spec says
  double factor = 1;  // of the scaling rule
  double scaled = 0;  // base x factor: what warmup leads to and the schedule starts from
  int64_t warmup_steps = 0;
  ScheduleCurve curve;
  std::string derivation;  // "0.001 x 128/64 (linear) = 0.002; 0.0002 after 3 epochs (1,407 steps)"

  // The planned rate of optimizer step `step` (0-based): the schedule's, times `factor`, times
  // (step + 1) / warmup_steps during warmup.
  double at(int64_t step) const;
};

LearningRate resolve_learning_rate(const TrainSpec& spec, int64_t global_batch, const RunSteps& steps);

// The learning rate of a run while it goes on: the plan, and what its evaluations did to it.
class LearningRateSchedule {
 public:
  explicit LearningRateSchedule(const LearningRate& plan) : plan_(plan), plateau_(plan.curve.spec()) {}

  double at(int64_t step) const { return plan_.at(step) * plateau_.factor(); }
  // After each evaluation, with the same numbers on every replica.
  void on_evaluation(const MetricValues& metrics);

  // What cannot be told from the plan and the step, to be saved; restore() continues exactly there and throws
  // Error(kCheckpoint) when `state` is of another kind of schedule.
  nlohmann::ordered_json state() const;
  void restore(const nlohmann::ordered_json& state);

 private:
  LearningRate plan_;
  PlateauWatch plateau_;  // watches only when the schedule is reduce_on_plateau
};

}  // namespace dtrain
