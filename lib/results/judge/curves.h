// How good probabilities are as such, and what each threshold for them would find.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dtrain {

// Where every example with this score or a higher one is said to be yes.
struct ThresholdPoint {
  double threshold = 0;
  double recall = 0;        // the share of the examples where yes is right that are found
  double false_alarms = 0;  // the share of the others that are said to be yes, too
  double precision = 0;
};

struct ThresholdCurve {
  int64_t yes = 0, no = 0;             // examples where yes is right, and others
  std::vector<ThresholdPoint> points;  // of every different score, the highest first
  double area = 0;                     // under the ROC curve
  double average_precision = 0;        // the mean of the precision over recall
  double best_f1 = 0, best_threshold = 0;
};

// Without points if all examples are alike.
ThresholdCurve threshold_curve(std::span<const double> scores, const std::vector<bool>& is_yes);

// The examples with a probability in a part of 0 to 1, of kCalibrationBins equal ones: those in (a, b].
constexpr int64_t kCalibrationBins = 15;
struct CalibrationBin {
  int64_t examples = 0;
  double probability = 0;  // mean
  double share = 0;        // of these that are what the probability was of
};

struct Calibration {
  std::vector<CalibrationBin> bins;  // without the empty ones
  // The expected calibration error (Guo et al. 2017, arXiv:1706.04599): the mean over the examples of the
  // distance between a bin's two numbers.
  double error = 0;
};

Calibration calibration(std::span<const double> probabilities, const std::vector<bool>& came);

}  // namespace dtrain
