#include "judge/example_results.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "metrics/events.h"
#include "safetensors/safetensors.h"

namespace dtrain {

std::string ExampleResults::problem() const {
  const std::vector<std::string> known = objective_names();
  if (std::ranges::find(known, loss) == known.end()) return "it has no known loss";
  if (part != kTestPart && part != kValidationPart && part != "train") return "it has no known part";
  const auto is_matrix = [&](const at::Tensor& numbers) {
    return numbers.dim() == 2 && numbers.size(0) == size() && numbers.size(1) > 0;
  };
  if (losses.dim() != 1 || size() == 0 || size() > kMostKeptExamples || !is_matrix(targets) ||
      !is_matrix(outputs))
    return "its tensors do not fit together";
  for (const at::Tensor& numbers : {losses, targets, outputs}) {
    if (numbers.isnan().any().item<bool>()) return "it has values that are not numbers";
  }
  const int64_t count = outputs.size(1);
  if (info().outputs != Outputs::kClassLogits)
    return targets.size(1) == count ? "" : "targets and outputs differ in number";
  if (targets.size(1) != 1 || (targets != targets.floor()).any().item<bool>() ||
      targets.min().item<double>() < 0 || targets.max().item<double>() >= static_cast<double>(count))
    return "a target is no class of the model";
  // A class may be impossible, but not all of them, and none is certain.
  return outputs.amax(1).isfinite().all().item<bool>() ? "" : "it has outputs that are infinite";
}

at::Tensor ExampleResults::probabilities() const {
  const at::Tensor logits = outputs.to(at::kDouble);
  return has_answers() ? logits.sigmoid() : logits.softmax(1);
}

at::Tensor ExampleResults::wanted() const {
  return has_answers() ? targets > 0.5 : at::arange(outputs.size(1)) == targets;
}

at::Tensor ExampleResults::predicted() const {
  return has_answers() ? outputs > 0 : at::arange(outputs.size(1)) == outputs.argmax(1, /*keepdim=*/true);
}

at::Tensor ExampleResults::right() const {
  if (!has_probabilities() || targets.size(1) > 1) return {};
  return (wanted() == predicted()).all(1);
}

void write_examples(const std::filesystem::path& file, const ExampleResults& results) {
  write_file_atomically(
      file,
      safetensors_bytes(
          {{"loss", results.losses}, {"target", results.targets}, {"output", results.outputs}},
          {{"format", "pt"}, {"loss", results.loss}, {"part", results.part}, {"examples", results.examples}}),
      "");
}

std::optional<ExampleResults> read_examples(const std::filesystem::path& file) {
  if (std::error_code none; !std::filesystem::exists(file, none)) return std::nullopt;
  try {
    const SafetensorsFile opened(file);
    int64_t bytes = 0;
    const auto read = [&](const char* name) {
      const auto entry = std::ranges::find(opened.tensors(), name, &TensorEntry::name);
      if (entry == opened.tensors().end() || entry->dtype != at::kFloat || entry->shape.size() > 2)
        throw Error(ExitCode::kUsage, "it has no {}", name);
      bytes += entry->end - entry->begin;
      if (bytes > static_cast<int64_t>(sizeof(float)) * kMostKeptNumbers)
        throw Error(ExitCode::kUsage, "it is too large");
      return opened.read(*entry);
    };
    const Metadata& said = opened.metadata();
    ExampleResults results{said.at("loss"), said.at("part"), said.at("examples"),
                           read("loss"),    read("target"),  read("output")};
    if (const std::string problem = results.problem(); !problem.empty())
      throw Error(ExitCode::kUsage, "{}", problem);
    return results;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kUsage, "{} is damaged: {}; remove it to go on without it",
                printable(file.string(), 1000), printable(error.what(), 1000));
  }
}

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
