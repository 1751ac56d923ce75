// How good probabilities are as such, and what each threshold for them would find.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dtrain {

// From this score on it is yes: so many of the examples where yes is right, and so many others.
struct ThresholdPoint {
  double threshold = 0;
  int64_t found = 0, wrong = 0;
};

// Of every different score, the highest first: the last point has all examples.
struct ThresholdCurve {
  std::vector<ThresholdPoint> points;

  int64_t yes() const { return points.empty() ? 0 : points.back().found; }
  int64_t no() const { return points.empty() ? 0 : points.back().wrong; }
  double precision(const ThresholdPoint& at) const;
  double recall(const ThresholdPoint& at) const;        // needs examples where yes is right
  double false_alarms(const ThresholdPoint& at) const;  // the share of the others; needs some
  // The area under the ROC curve, and the mean of the precision over recall; NaN if all examples are alike.
  double area() const;
  double average_precision() const;
  const ThresholdPoint& best_f1() const;  // needs examples
};

ThresholdCurve threshold_curve(std::span<const double> scores, const std::vector<bool>& is_yes);

// The examples with a probability in a part of 0 to 1, of kCalibrationBins equal ones: those in (a, b].
constexpr int64_t kCalibrationBins = 15;
struct CalibrationBin {
  int64_t examples = 0;
  double probability = 0;  // mean
  double share = 0;        // of these that are what the probability was of
};

// Without the empty ones.
std::vector<CalibrationBin> calibration(std::span<const double> probabilities, const std::vector<bool>& came);

// The expected calibration error (Guo et al. 2017, arXiv:1706.04599): the mean distance of the two over the
// examples.
double calibration_error(const std::vector<CalibrationBin>& bins);

}  // namespace dtrain
