#include "judge/curves.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtrain {
namespace {

double part_of(int64_t part, int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

}  // namespace

double ThresholdCurve::precision(const ThresholdPoint& at) const {
  return part_of(at.found, at.found + at.wrong);
}
double ThresholdCurve::recall(const ThresholdPoint& at) const { return part_of(at.found, yes()); }
double ThresholdCurve::false_alarms(const ThresholdPoint& at) const { return part_of(at.wrong, no()); }

double ThresholdCurve::area() const {
  if (yes() == 0 || no() == 0) return std::nan("");
  double area = 0;
  ThresholdPoint before;
  for (const ThresholdPoint& point : points) {
    area += part_of(point.wrong - before.wrong, no()) * part_of(point.found + before.found, 2 * yes());
    before = point;
  }
  return area;
}

double ThresholdCurve::average_precision() const {
  if (yes() == 0) return std::nan("");
  double mean = 0;
  int64_t before = 0;
  for (const ThresholdPoint& point : points) {
    mean += part_of(point.found - before, yes()) * precision(point);
    before = point.found;
  }
  return mean;
}

const ThresholdPoint& ThresholdCurve::best_f1() const {
  const auto f1 = [&](const ThresholdPoint& at) {
    return part_of(2 * at.found, at.found + at.wrong + yes());
  };
  return *std::ranges::max_element(points, {}, f1);
}

ThresholdCurve threshold_curve(std::span<const double> scores, const std::vector<bool>& is_yes) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  ThresholdCurve curve;
  ThresholdPoint point;
  for (size_t i = 0; i < order.size(); ++i) {
    ++(is_yes[order[i]] ? point.found : point.wrong);
    point.threshold = scores[order[i]];
    if (i + 1 == order.size() || scores[order[i + 1]] != point.threshold) curve.points.push_back(point);
  }
  return curve;
}

std::vector<CalibrationBin> calibration(std::span<const double> probabilities,
                                        const std::vector<bool>& came) {
  std::vector<CalibrationBin> bins(kCalibrationBins);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const double place = std::ceil(probabilities[i] * kCalibrationBins) - 1;
    CalibrationBin& bin = bins[static_cast<size_t>(std::clamp<double>(place, 0, kCalibrationBins - 1))];
    ++bin.examples;
    bin.probability += probabilities[i];
    bin.share += came[i] ? 1 : 0;
  }
  std::erase_if(bins, [](const CalibrationBin& bin) { return bin.examples == 0; });
  for (CalibrationBin& bin : bins) {
    bin.probability /= static_cast<double>(bin.examples);
    bin.share /= static_cast<double>(bin.examples);
  }
  return bins;
}

double calibration_error(const std::vector<CalibrationBin>& bins) {
  double error = 0, examples = 0;
  for (const CalibrationBin& bin : bins) {
    error += static_cast<double>(bin.examples) * std::abs(bin.probability - bin.share);
    examples += static_cast<double>(bin.examples);
  }
  return error / examples;
}

}  // namespace dtrain
