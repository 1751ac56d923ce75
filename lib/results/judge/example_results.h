// What an evaluation found of each example, in one file of the run's folder: all that is said of chance,
// calibration and thresholds is computed from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "traits/objectives.h"

namespace dtrain {

// In the folder of a run: of the evaluation that it ended with.
constexpr const char* kExamplesFile = "examples.safetensors";

// More numbers than these (the losses included), or more examples, are not kept: 32 MiB.
constexpr int64_t kMostKeptNumbers = 8 << 20;
constexpr int64_t kMostKeptExamples = 1 << 20;

// Of n examples in the order of their part of the data.
struct ExampleResults {
  std::string loss;                // the job's, or that which a plug-in's is like: as for objective_info()
  std::string part = "test";       // of the data: test, validation or train
  std::string examples = {};       // the same text for the same examples alone
  int64_t targets = 1;             // numbers of an example's target; a class is one
  int64_t outputs = 1;             // of the model
  std::vector<float> losses = {};  // [n], as evaluations report them
  std::vector<float> wanted = {};  // [n, targets]: classes or numbers
  std::vector<float> given = {};   // [n, outputs]: what the model computes; of classes, logits

  size_t size() const { return losses.size(); }
  const ObjectiveInfo& info() const { return objective_info(loss); }
  // Why they cannot be computed with: sizes that do not fit together, classes that do not exist, no numbers.
  // Empty: they can.
  std::string problem() const;
  // Whether they are classes, or answers of yes or no.
  bool has_probabilities() const { return info().outputs != Outputs::kValues; }
  // The probability of each class, or of each yes: softmax or sigmoid of `given`, [n, outputs].
  std::vector<double> probabilities() const;
  // The class that is predicted of an example; of one answer 1 for yes.
  int64_t predicted(size_t example) const;
  // By example, whether the prediction is right. Empty where it is no class and no single answer.
  std::vector<bool> right() const;
};

// Replaces the file. Throws as write_file_atomically().
void write_examples(const std::filesystem::path& file, const ExampleResults& results);

// nullopt: there is no such file. Throws Error(kUsage) if it is damaged or has a problem(): it may come from
// anywhere.
std::optional<ExampleResults> read_examples(const std::filesystem::path& file);

}  // namespace dtrain
