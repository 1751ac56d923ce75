#include "step/loss_scale.h"

namespace dtrain {
namespace {

constexpr int64_t kGrowthInterval = 2000;  // updates
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;

}  // namespace

void LossScale::update(bool finite) {
  if (!finite) {
    scale_ *= kBackoff;
    good_ = 0;
    ++skipped_;
  } else if (++good_ == kGrowthInterval) {
    scale_ *= kGrowth;
    good_ = 0;
  }
}

std::vector<double> LossScale::state() const {
  return {scale_, static_cast<double>(good_), static_cast<double>(skipped_)};
}

void LossScale::restore(const std::vector<double>& state) {
  scale_ = state.at(0);
  good_ = static_cast<int64_t>(state.at(1));
  skipped_ = static_cast<int64_t>(state.at(2));
}

}  // namespace dtrain
