// The dynamic loss scale of 16-bit training.
#pragma once

#include <cstdint>
#include <vector>

namespace dtrain {

// Gradients below 6e-8 are zero in fp16, so the loss is multiplied by a scale before backward, and the
// gradients are divided by it before the update. The scale is as large as they bear: one that makes any of
// them overflow is halved, and the update is skipped; one that went well for 2000 updates is doubled
// (Micikevicius et al. 2018, Mixed Precision Training, arXiv:1710.03740, section 3.2; PyTorch's GradScaler).
// Replicas that see the same gradient come to the same scale.
class LossScale {
 public:
  double value() const { return scale_; }
  // After each backward pass: whether the gradient that came of value() is finite, so that the update is
  // made.
  void update(bool finite);
  // Updates that were not made.
  int64_t skipped() const { return skipped_; }

  // All of it, to be saved; three numbers.
  std::vector<double> state() const;
  void restore(const std::vector<double>& state);

 private:
  double scale_ = 65536;
  int64_t good_ = 0;  // updates since the scale changed
  int64_t skipped_ = 0;
};

}  // namespace dtrain
