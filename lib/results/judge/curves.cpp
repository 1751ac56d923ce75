#include "judge/curves.h"

#include <ATen/ATen.h>

namespace dtrain {

ThresholdCurve threshold_curve(const at::Tensor& scores, const at::Tensor& is_yes) {
  ThresholdCurve curve{.yes = is_yes.sum().item<int64_t>()};
  const int64_t no = is_yes.numel() - curve.yes;
  if (curve.yes == 0 || no == 0) return curve;
  const auto [values, places, examples] = at::_unique2(scores, /*sorted=*/true, true, true);
  const at::Tensor found = at::bincount(places, is_yes.to(at::kDouble), values.numel()).flip(0).cumsum(0);
  const at::Tensor said = examples.flip(0).cumsum(0).to(at::kDouble);
  curve.recall = found / curve.yes;
  curve.false_alarms = (said - found) / no;
  curve.precision = found / said;
  const at::Tensor start = at::zeros({1}, at::kDouble);
  const at::Tensor steps = at::diff(curve.recall, 1, 0, start);
  curve.area = (at::diff(curve.false_alarms, 1, 0, start) * (curve.recall - steps / 2)).sum().item<double>();
  curve.average_precision = (steps * curve.precision).sum().item<double>();
  const at::Tensor f1 = 2 * found / (said + curve.yes);
  const int64_t best = f1.argmax().item<int64_t>();
  curve.best_f1 = f1[best].item<double>();
  curve.best_threshold = values[values.numel() - 1 - best].item<double>();
  return curve;
}

Calibration calibration(const at::Tensor& probabilities, const at::Tensor& came) {
  const at::Tensor places = (probabilities * kCalibrationBins).ceil().sub(1).clamp(0, kCalibrationBins - 1);
  const auto sums_of = [&](const at::Tensor& values) {
    return at::bincount(places.to(at::kLong), values.to(at::kDouble), kCalibrationBins);
  };
  const at::Tensor counts = sums_of(at::ones_like(probabilities)), filled = counts > 0;
  const at::Tensor expected = sums_of(probabilities), were = sums_of(came);
  return {(expected / counts).masked_select(filled), (were / counts).masked_select(filled),
          (expected - were).abs().sum().item<double>() / static_cast<double>(probabilities.numel())};
}

}  // namespace dtrain
