// reduce_on_plateau: the learning rate falls when evaluations stop getting better.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "spec/spec.h"

namespace dtrain {

// Watches one metric of the evaluations. It counts those that do not improve on the best by more than
// min_delta; after `patience` of them in a row the rate is multiplied by `factor`, but never falls below
// final_factor of itself, and the next `cooldown` evaluations do not count (as Keras's and PyTorch's
// ReduceLROnPlateau do; PyTorch's patience is one less).
//
// Every replica that observes the same numbers comes to the same decision, and sums over replicas have the
// same bits everywhere: nothing has to be sent.
class PlateauWatch {
 public:
  PlateauWatch() = default;
  explicit PlateauWatch(const ScheduleSpec& spec) : spec_(spec) {}

  // A metric that is not a finite number is no improvement.
  void observe(double metric);
  // What the rate is multiplied by now.
  double factor() const { return factor_; }

  // All that was observed, to be saved; restore() continues exactly there. Throws Error(kCheckpoint) when
  // `state` is no such state.
  nlohmann::ordered_json state() const;
  void restore(const nlohmann::ordered_json& state);

 private:
  bool improves(double metric) const;

  ScheduleSpec spec_;
  bool observed_ = false;
  double best_ = 0;  // meaningless before the first observation
  int64_t waited_ = 0;
  int64_t cooling_ = 0;
  double factor_ = 1;
};

}  // namespace dtrain
