// The curves of learning-rate schedules. They count optimizer steps, never micro-batches. A length given in
// epochs is multiplied by the steps of an epoch.
#pragma once

#include <cstdint>
#include <string>

#include "spec/schedule_kinds.h"

namespace dtrain {

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

}  // namespace dtrain
