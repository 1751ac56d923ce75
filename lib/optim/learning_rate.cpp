#include "optim/learning_rate.h"

#include <fmt/format.h>

#include <cmath>

namespace dtrain {

double LearningRate::at(int64_t step) const {
  if (step >= warmup_steps) return scaled;
  return scaled * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
}

LearningRate resolve_learning_rate(const TrainSpec& spec, int64_t global_batch) {
  const LearningRateScalingSpec& scaling = spec.learning_rate_scaling;
  LearningRate rate;
  rate.base = spec.optimizer.learning_rate;
  rate.warmup_steps = scaling.warmup_steps;
  const int64_t reference = scaling.reference_batch.value_or(global_batch);
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(reference);
  if (scaling.rule == "linear") rate.factor = ratio;
  if (scaling.rule == "sqrt") rate.factor = std::sqrt(ratio);
  rate.scaled = rate.base * rate.factor;
  if (scaling.rule == "none") {
    rate.derivation = fmt::format("{:g} (no scaling)", rate.base);
  } else {
    const std::string fraction = fmt::format("{}/{}", global_batch, reference);
    rate.derivation =
        fmt::format("{:g} x {} ({}) = {:g}", rate.base,
                    scaling.rule == "sqrt" ? "sqrt(" + fraction + ")" : fraction, scaling.rule, rate.scaled);
  }
  return rate;
}

}  // namespace dtrain
