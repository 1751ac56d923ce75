// The curves of learning-rate schedules. They count optimizer steps, never micro-batches. A length given in
// epochs is multiplied by the steps of an epoch.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace dtrain {

// The number of optimizer steps in a run.
struct RunSteps {
  int64_t per_epoch = 1;
  int64_t total = 1;
};

class ScheduleCurve;

// The computations of a kind of schedule; each kind has a file in schedules/.
struct ScheduleMethod {
  std::string name;
  // As ScheduleCurve::at() and description().
  double (*at)(const ScheduleCurve& curve, int64_t step, double rate);
  std::string (*description)(const ScheduleCurve& curve, double scaled, double scale);
};

// Throws Error(kBug) for an unknown name: specs are checked earlier.
const ScheduleMethod& schedule_method(const std::string& name);

// One schedule with its lengths in steps.
class ScheduleCurve {
 public:
  ScheduleCurve() = default;
  ScheduleCurve(const ScheduleSpec& spec, const RunSteps& steps);

  // The rate of optimizer step `step` (0-based), before scaling and warmup. `rate` is the optimizer's rate.
  double at(int64_t step, double rate) const { return method_->at(*this, step, rate); }

  const ScheduleSpec& spec() const { return spec_; }

  // How the rate changes, starting from `scaled`: "0.0002 after 3 epochs (step 1,407), ..."; empty if it does
  // not change. The rates of a piecewise schedule are multiplied by `scale`.
  std::string description(double scaled, double scale) const {
    return method_->description(*this, scaled, scale);
  }

  // For the methods. Lengths are in steps.
  const std::vector<int64_t>& boundaries() const { return boundaries_; }
  int64_t every() const { return every_; }
  int64_t over() const { return over_; }
  int64_t total() const { return total_; }  // of the run
  // How much of the curve is over at `step`, from 0 to 1.
  double progress(int64_t step) const;
  // "10 epochs (4,690 steps)", "500 steps"
  std::string length_text(int64_t units) const;
  std::string over_text() const;  // "all 500 steps", or the length of `over`

 private:
  const ScheduleMethod* method_ = &schedule_method("constant");
  ScheduleSpec spec_;
  int64_t unit_ = 1;   // steps
  int64_t total_ = 1;  // all in steps
  std::vector<int64_t> boundaries_;
  int64_t every_ = 1;
  int64_t over_ = 1;
};

// Half a cosine from `start` at 0 to `end` at 1.
double anneal(double start, double end, double progress);

// The implemented kinds.
const std::vector<std::string>& schedule_names();

}  // namespace dtrain
