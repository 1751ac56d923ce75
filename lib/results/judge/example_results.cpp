#include "judge/example_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

at::Tensor as_tensor(const std::vector<float>& values, at::IntArrayRef shape) {
  return at::tensor(values, at::kFloat).view(shape);
}

// Throws if the numbers do not fit together: sizes, and classes that are none.
void require_sound(const ExampleResults& results) {
  const std::vector<std::string> known = objective_names();
  const auto count = static_cast<int64_t>(results.size());
  const bool sized = results.targets > 0 && results.outputs > 0 && count > 0 && count <= kMostKeptExamples &&
                     std::ssize(results.wanted) == count * results.targets &&
                     std::ssize(results.given) == count * results.outputs;
  if (!sized || std::ranges::find(known, results.loss) == known.end())
    throw Error(ExitCode::kUsage, "its tensors do not fit together");
  if (results.info().outputs != Outputs::kClassLogits) {
    if (results.targets != results.outputs) throw Error(ExitCode::kUsage, "its targets are others");
    return;
  }
  const auto is_class = [&](float label) {
    return label >= 0 && label < static_cast<float>(results.outputs) && label == std::floor(label);
  };
  if (results.targets != 1 || !std::ranges::all_of(results.wanted, is_class))
    throw Error(ExitCode::kUsage, "it has classes that the model has not");
}

}  // namespace

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
    const auto read = [&](const char* name, std::vector<float>& values) {
      const auto entry = std::ranges::find(opened.tensors(), name, &TensorEntry::name);
      if (entry == opened.tensors().end() || entry->dtype != at::kFloat || entry->shape.empty())
        throw Error(ExitCode::kUsage, "it has no {}", name);
      const at::Tensor tensor = opened.read(*entry).contiguous();
      const float* const first = tensor.const_data_ptr<float>();
      values.assign(first, first + tensor.numel());
      return entry->shape.back();
    };
    read("loss", results.losses);
    results.targets = read("target", results.wanted);
    results.outputs = read("output", results.given);
    results.loss = opened.metadata().at("loss");
    results.part = opened.metadata().at("part");
    results.examples = opened.metadata().at("examples");
    require_sound(results);
    return results;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kUsage,
                "{} is not what dtrain has written: {}; remove it, and dtrain eval makes it again",
                file.string(), error.what());
  }
}

}  // namespace dtrain
