#include "optim/growth_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtrain {
namespace {

constexpr double kAllowance = 10;
constexpr double kRounding = 1.01;  // of sums of many steps, and of averages of weights
constexpr double kGrowth = 1000;    // used if steps have no bound
constexpr double kEpsilon = 1e-15;  // below it, squares that underflow to zero no longer bound a quotient
constexpr double kNone = std::numeric_limits<double>::infinity();

double movement_of(const OptimizerSpec& spec, double clip_norm) {
  if (spec.kind == "sgd") return clip_norm > 0 ? clip_norm / (1 - spec.momentum) : kNone;
  if (spec.epsilon < kEpsilon) return kNone;
  if (spec.kind == "rmsprop") return 1 / (std::sqrt(1 - spec.decay) * (1 - spec.momentum));
  const double ratio = spec.beta1 == 0 ? 0 : spec.beta1 * spec.beta1 / spec.beta2;
  if (!(ratio < 1)) return kNone;
  return std::max(1.0, (1 - spec.beta1) / std::sqrt((1 - spec.beta2) * (1 - ratio)));
}

}  // namespace

GrowthBound::GrowthBound(const OptimizerSpec& spec, double clip_norm)
    : movement_(movement_of(spec, clip_norm)) {
  if (spec.kind == "sgd") decay_ = spec.weight_decay / (1 - spec.momentum);
  if (spec.kind == "adamw") decoupled_ = spec.weight_decay;
}

void GrowthBound::begin(double largest) {
  bound_ = std::isfinite(movement_) ? largest : kGrowth * std::max(1.0, largest);
}

void GrowthBound::add_step(double learning_rate) {
  if (!std::isfinite(movement_)) return;
  const double kept = std::max(1.0, std::abs(1 - learning_rate * decoupled_));
  bound_ = kept * bound_ + kAllowance * learning_rate * (movement_ + decay_ * bound_);
}

double GrowthBound::value() const { return kRounding * bound_; }

}  // namespace dtrain
