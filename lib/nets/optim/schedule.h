// The curves of learning-rate schedules. They count optimizer steps, never micro-batches. A length given in
// epochs is multiplied by the steps of an epoch.
#pragma once

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

// One schedule with its lengths in steps. The rate at step s (0-based) for a rate r, with T, E and B as
// below:
//   constant     r
//   piecewise    values[i], where i is the number of boundaries B[j] <= s
//   step         r factor^floor(s / E)
//   exponential  r factor^(s / E)
//   cosine       r (f + (1 - f) (1 + cos(pi s / T)) / 2), f = final_factor
//                (Loshchilov and Hutter 2017, arXiv:1608.03983, equation 5, without restarts)
//   polynomial   r (f + (1 - f) (1 - s / T)^power)
//   one_cycle    up by half a cosine from r initial_factor at step 0 to r at step peak_at T - 1, then down to
//                r f at step T - 1 (Smith and Topin 2019, arXiv:1708.07120, in PyTorch's form)
//   reduce_on_plateau  r; PlateauWatch changes it after evaluations
// From T on, cosine, polynomial and one_cycle keep their last value.
class ScheduleCurve {
 public:
  ScheduleCurve() = default;
  ScheduleCurve(const ScheduleSpec& spec, const RunSteps& steps);

  // The rate of optimizer step `step` (0-based), before scaling and warmup. `rate` is the optimizer's rate.
  double at(int64_t step, double rate) const;

  const ScheduleSpec& spec() const { return spec_; }

  // How the rate changes, starting from `scaled`: "0.0002 after 3 epochs (step 1,407), ..."; empty if it does
  // not change. The rates of a piecewise schedule are multiplied by `scale`.
  std::string description(double scaled, double scale) const;

 private:
  // "10 epochs (4,690 steps)", "500 steps"
  std::string length_text(int64_t units) const;

  ScheduleSpec spec_;
  int64_t unit_ = 1;                 // steps
  int64_t total_ = 1;                // steps of the run
  std::vector<int64_t> boundaries_;  // B, in steps
  int64_t every_ = 1;                // E, in steps
  int64_t over_ = 1;                 // T, in steps
};

// The implemented kinds.
const std::vector<std::string>& schedule_names();

}  // namespace dtrain
