// How good probabilities are as such, and what each threshold for them would find.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace dtrain {

// For every different score, the highest first: where every example with this score or a higher one is said
// to be yes. Undefined tensors if all examples are alike.
struct ThresholdCurve {
  int64_t yes = 0;               // examples where yes is right
  at::Tensor recall = {};        // the share of these that are found
  at::Tensor false_alarms = {};  // the share of the others that are said to be yes, too
  at::Tensor precision = {};
  double area = 0;               // under the ROC curve
  double average_precision = 0;  // the mean of the precision over recall
  double best_f1 = 0, best_threshold = 0;
};

// From scores, and whether yes is right, [n].
ThresholdCurve threshold_curve(const at::Tensor& scores, const at::Tensor& is_yes);

// 0 to 1 is divided into this many equal parts, (a, b]. For the examples with a probability in each part: the
// mean of the probabilities, and the share that came true. Without empty parts.
constexpr int64_t kCalibrationBins = 15;
struct Calibration {
  at::Tensor probability, share;
  // The expected calibration error (Guo et al. 2017, arXiv:1706.04599): the mean over the examples of the
  // distance between their part's two numbers.
  double error = 0;
};

// From probabilities, float64, and whether they came true, [n].
Calibration calibration(const at::Tensor& probabilities, const at::Tensor& came);

}  // namespace dtrain
