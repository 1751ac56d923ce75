#include "judge/curves.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dtrain {

ThresholdCurve threshold_curve(std::span<const double> scores, const std::vector<bool>& is_yes) {
  ThresholdCurve curve;
  curve.yes = std::ranges::count(is_yes, true);
  curve.no = std::ssize(is_yes) - curve.yes;
  if (curve.yes == 0 || curve.no == 0) return curve;
  const auto yes = static_cast<double>(curve.yes), no = static_cast<double>(curve.no);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  double found = 0, wrong = 0;
  ThresholdPoint before;
  for (size_t i = 0; i < order.size(); ++i) {
    const double score = scores[order[i]];
    ++(is_yes[order[i]] ? found : wrong);
    if (i + 1 < order.size() && scores[order[i + 1]] == score) continue;
    const ThresholdPoint point = {score, found / yes, wrong / no, found / (found + wrong)};
    curve.area += (point.false_alarms - before.false_alarms) * (point.recall + before.recall) / 2;
    curve.average_precision += (point.recall - before.recall) * point.precision;
    const double f1 = 2 * found / (found + wrong + yes);
    if (f1 > curve.best_f1) curve.best_f1 = f1, curve.best_threshold = score;
    curve.points.push_back(point);
    before = point;
  }
  return curve;
}

Calibration calibration(std::span<const double> probabilities, const std::vector<bool>& came) {
  Calibration found;
  found.bins.resize(kCalibrationBins);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const double place = std::ceil(probabilities[i] * kCalibrationBins) - 1;
    CalibrationBin& bin = found.bins[static_cast<size_t>(std::clamp<double>(place, 0, kCalibrationBins - 1))];
    ++bin.examples;
    bin.probability += probabilities[i];
    bin.share += came[i] ? 1 : 0;
  }
  std::erase_if(found.bins, [](const CalibrationBin& bin) { return bin.examples == 0; });
  for (CalibrationBin& bin : found.bins) {
    found.error += std::abs(bin.probability - bin.share) / static_cast<double>(probabilities.size());
    bin.probability /= static_cast<double>(bin.examples);
    bin.share /= static_cast<double>(bin.examples);
  }
  return found;
}

}  // namespace dtrain
