// The dynamic loss scale of 16-bit training.
#pragma once

#include <cstdint>
#include <vector>

namespace dtrain {

// Gradients below 6e-8 are zero in fp16. Therefore the loss is multiplied by a scale before the backward
// pass, and the gradients are divided by it before the update. The scale is kept as large as possible: if any
// gradient overflows, the update is skipped and the scale is halved; after 2000 updates without overflow it
// is doubled (Micikevicius et al. 2018, Mixed Precision Training, arXiv:1710.03740, section 3.2; PyTorch's
// GradScaler). Replicas that see the same gradient compute the same scale.
class LossScale {
 public:
  double value() const { return scale_; }
  // Call after each backward pass. `finite`: whether the gradient computed with value() is finite; if so, the
  // update is made.
  void update(bool finite) {
    if (!finite) {
      scale_ /= 2;
      good_ = 0;
      ++skipped_;
    } else if (++good_ == kGrowthInterval) {
      scale_ *= 2;
      good_ = 0;
    }
  }
  // The number of skipped updates.
  int64_t skipped() const { return skipped_; }

  // The whole state, to be saved: three numbers.
  std::vector<double> state() const {
    return {scale_, static_cast<double>(good_), static_cast<double>(skipped_)};
  }
  void restore(const std::vector<double>& state) {
    scale_ = state.at(0);
    good_ = static_cast<int64_t>(state.at(1));
    skipped_ = static_cast<int64_t>(state.at(2));
  }

 private:
  static constexpr int64_t kGrowthInterval = 2000;  // updates

  double scale_ = 65536;
  int64_t good_ = 0;  // updates since the scale changed
  int64_t skipped_ = 0;
};

}  // namespace dtrain
