#include "judge/example_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "metrics/events.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

at::Tensor as_tensor(const std::vector<float>& values, at::IntArrayRef shape) {
  return at::tensor(values, at::kFloat).view(shape);
}

}  // namespace

std::string ExampleResults::problem() const {
  const std::vector<std::string> known = objective_names();
  if (std::ranges::find(known, loss) == known.end()) return "it has no known loss";
  if (part != kTestPart && part != kValidationPart && part != "train") return "it has no known part";
  const auto count = static_cast<int64_t>(size());
  const auto is_sized = [&](const std::vector<float>& values, int64_t width) {
    return width > 0 && std::ssize(values) % count == 0 && std::ssize(values) / count == width;
  };
  if (count == 0 || count > kMostKeptExamples || !is_sized(wanted, targets) || !is_sized(given, outputs))
    return "its tensors do not fit together";
  for (const auto* values : {&losses, &wanted, &given}) {
    if (std::ranges::any_of(*values, [](float value) { return std::isnan(value); }))
      return "it has values that are not numbers";
  }
  if (info().outputs != Outputs::kClassLogits)
    return targets == outputs ? "" : "targets and outputs differ in number";
  const auto is_class = [&](float label) {
    return label >= 0 && label < static_cast<float>(outputs) && label == std::floor(label);
  };
  if (targets != 1 || !std::ranges::all_of(wanted, is_class)) return "a target is no class of the model";
  // A class may be impossible, but not all of them, and none is certain.
  for (auto row = given.begin(); row != given.end(); row += outputs) {
    if (!std::isfinite(*std::max_element(row, row + outputs))) return "it has outputs that are infinite";
  }
  return "";
}

std::vector<double> ExampleResults::probabilities() const {
  std::vector<double> all(given.begin(), given.end());
  if (info().outputs == Outputs::kYesNoLogits) {
    for (double& value : all) value = 1 / (1 + std::exp(-value));
    return all;
  }
  for (auto row = all.begin(); row != all.end(); row += outputs) {
    const double most = *std::max_element(row, row + outputs);
    double sum = 0;
    for (auto value = row; value != row + outputs; ++value) sum += * value = std::exp(*value - most);
    for (auto value = row; value != row + outputs; ++value) *value /= sum;
  }
  return all;
}

int64_t ExampleResults::predicted(size_t example) const {
  const auto row = given.begin() + static_cast<int64_t>(example) * outputs;
  return info().outputs == Outputs::kClassLogits ? std::max_element(row, row + outputs) - row : *row > 0;
}

std::vector<bool> ExampleResults::right() const {
  std::vector<bool> right;
  if (!has_probabilities() || targets > 1) return right;
  const bool answers = info().outputs == Outputs::kYesNoLogits;
  for (size_t i = 0; i < size(); ++i)
    right.push_back(predicted(i) == (answers ? wanted[i] > 0.5F : static_cast<int64_t>(wanted[i])));
  return right;
}

void write_examples(const std::filesystem::path& file, const ExampleResults& results) {
  const auto count = static_cast<int64_t>(results.size());
  write_file_atomically(
      file,
      safetensors_bytes(
          {{"loss", as_tensor(results.losses, {count})},
           {"target", as_tensor(results.wanted, {count, results.targets})},
           {"output", as_tensor(results.given, {count, results.outputs})}},
          {{"format", "pt"}, {"loss", results.loss}, {"part", results.part}, {"examples", results.examples}}),
      "");
}

std::optional<ExampleResults> read_examples(const std::filesystem::path& file) {
  if (std::error_code none; !std::filesystem::exists(file, none)) return std::nullopt;
  try {
    const SafetensorsFile opened(file);
    if (opened.bytes() > 2 * static_cast<int64_t>(sizeof(float)) * kMostKeptNumbers)
      throw Error(ExitCode::kUsage, "it is too large");
    ExampleResults results;
    const auto read = [&](const char* name, std::vector<float>& values, bool is_matrix) {
      const auto entry = std::ranges::find(opened.tensors(), name, &TensorEntry::name);
      if (entry == opened.tensors().end() || entry->dtype != at::kFloat)
        throw Error(ExitCode::kUsage, "it has no {}", name);
      // As many rows as losses; the columns follow from the bytes, so that no product overflows.
      const int64_t numbers = (entry->end - entry->begin) / static_cast<int64_t>(sizeof(float));
      const int64_t rows = is_matrix ? std::max<int64_t>(1, std::ssize(results.losses)) : numbers;
      const int64_t columns = numbers / std::max<int64_t>(1, rows);
      if (entry->shape != (is_matrix ? std::vector{rows, columns} : std::vector{rows}))
        throw Error(ExitCode::kUsage, "its tensors do not fit together");
      const at::Tensor tensor = opened.read(*entry).contiguous();
      const float* const first = tensor.const_data_ptr<float>();
      values.assign(first, first + numbers);
      return columns;
    };
    read("loss", results.losses, /*is_matrix=*/false);
    results.targets = read("target", results.wanted, /*is_matrix=*/true);
    results.outputs = read("output", results.given, /*is_matrix=*/true);
    if (std::ssize(results.losses) + std::ssize(results.wanted) + std::ssize(results.given) >
        kMostKeptNumbers)
      throw Error(ExitCode::kUsage, "it is too large");
    results.loss = opened.metadata().at("loss");
    results.part = opened.metadata().at("part");
    results.examples = opened.metadata().at("examples");
    if (const std::string problem = results.problem(); !problem.empty())
      throw Error(ExitCode::kUsage, "{}", problem);
    return results;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kUsage, "{} is damaged: {}; remove it to go on without it",
                printable(file.string(), 1000), printable(error.what(), 1000));
  }
}

}  // namespace dtrain
