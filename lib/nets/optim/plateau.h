// reduce_on_plateau: reduces the learning rate when evaluations stop improving.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "spec/schedule_kinds.h"

namespace dtrain {

// Whether a value of a metric is better than the best one before it, if there is one, by more than
// `min_delta`. A value that is not finite is not better.
bool improves(const std::string& metric, double value, std::optional<double> best, double min_delta);

// Watches one metric of the evaluations. It counts evaluations that do not improve on the best by more than
// min_delta. After `patience` of them in a row, the rate is multiplied by `factor`, but never falls below
// final_factor times the original rate; the next `cooldown` evaluations do not count (as Keras's and
// PyTorch's ReduceLROnPlateau do; PyTorch's patience is one less).
//
// Replicas that observe the same numbers make the same decision, and sums over replicas are bit-identical on
// all of them, so nothing has to be sent.
class PlateauWatch {
 public:
  explicit PlateauWatch(const PlateauFields& spec) : spec_(spec) {}

  const std::string& metric() const { return spec_.metric; }
  // A metric that is not finite is not an improvement.
  void observe(double metric);
  // The current factor of the rate.
  double factor() const { return factor_; }

  // The state to save. restore() continues exactly from it and throws Error(kCheckpoint) if `state` is not
  // from state().
  nlohmann::ordered_json state() const;
  void restore(const nlohmann::ordered_json& state);

 private:
  PlateauFields spec_;
  std::optional<double> best_;
  int64_t waited_ = 0;
  int64_t cooling_ = 0;
  double factor_ = 1;
};

}  // namespace dtrain
