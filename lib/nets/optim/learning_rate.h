// The learning rate of every optimizer step, how it is derived, and the curves of its schedules. They count
// optimizer steps, never micro-batches. A length given in epochs is multiplied by the steps of an epoch.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "spec/schedule_kinds.h"
#include "traits/objectives.h"

namespace dtrain {

// Whether a value of a metric is better than the best one before it, if there is one, by more than
// `min_delta`. A value that is not finite is not better.
bool improves(const std::string& metric, double value, std::optional<double> best, double min_delta);

// The number of optimizer steps in a run.
struct RunSteps {
  int64_t per_epoch = 1;
  int64_t total = 1;
};

struct ScheduleMethod;  // what a kind of schedule computes

// One schedule with its lengths in steps.
class ScheduleCurve {
 public:
  ScheduleCurve();  // constant
  ScheduleCurve(const ScheduleSpec& spec, const RunSteps& steps);

  // The rate of optimizer step `step` (0-based), before scaling and warmup. `rate` is the optimizer's rate.
  double at(int64_t step, double rate) const;

  const ScheduleSpec& spec() const { return spec_; }

  // How the rate changes, starting from `scaled`: "0.0002 after 3 epochs (step 1,407), ..."; empty if it does
  // not change. The rates of a piecewise schedule are multiplied by `scale`.
  std::string description(double scaled, double scale) const;

  // For the methods. Lengths are in steps.
  template <class Own>
  const Own& own() const {
    return spec_.own.get<Own>();
  }
  // How many steps these `units` are, epochs or steps as the spec counts.
  int64_t steps(int64_t units) const;
  int64_t over() const { return over_; }
  int64_t total() const { return run_.total; }
  // How much of the curve is over at `step`, from 0 to 1.
  double progress(int64_t step) const;
  // "10 epochs (4,690 steps)", "500 steps"
  std::string length_text(int64_t units) const;
  std::string over_text() const;  // "all 500 steps", or the length of `over`

 private:
  const ScheduleMethod* method_;
  ScheduleSpec spec_;
  RunSteps run_;
  bool in_epochs_ = false;
  int64_t over_ = 1;  // steps
};

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
//
// reduce_on_plateau watches one metric of the evaluations. It counts evaluations that do not improve on the
// best by more than min_delta. After `patience` of them in a row, the rate is multiplied by `factor`, but
// never falls below final_factor times the original rate; the next `cooldown` evaluations do not count (as
// Keras's and PyTorch's ReduceLROnPlateau do; PyTorch's patience is one less).
//
// Replicas that observe the same numbers make the same decision, and sums over replicas are bit-identical on
// all of them, so nothing has to be sent.
class LearningRateSchedule {
 public:
  explicit LearningRateSchedule(const LearningRate& plan) : plan_(plan) {}

  double at(int64_t step) const { return plan_.at(step) * factor_; }
  // Call after each evaluation, with the same numbers on every replica. A metric that is not finite is not an
  // improvement.
  void on_evaluation(const MetricValues& metrics);

  // The state to save, which cannot be computed from the plan and the step. restore() continues exactly from
  // it; of another kind of schedule it takes nothing, of another metric only the rate. Throws
  // Error(kCheckpoint) if `state` is not from state().
  nlohmann::ordered_json state() const;
  void restore(const nlohmann::ordered_json& state);

 private:
  bool watches() const;  // whether the schedule goes by evaluations

  LearningRate plan_;
  std::optional<double> best_;
  int64_t waited_ = 0;   // evaluations, as the next
  int64_t cooling_ = 0;  // that still do not count
  double factor_ = 1;    // of the rate now
};

}  // namespace dtrain
