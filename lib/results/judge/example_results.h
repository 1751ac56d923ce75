// What an evaluation found of each example, in one file of the run's folder: all that is said of chance,
// calibration and thresholds is computed from it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "traits/objectives.h"

namespace dtrain {

// In the folder of a run: of the evaluation that it ended with.
constexpr const char* kExamplesFile = "examples.safetensors";

// More numbers than these (the losses included), or more examples, are not kept: 32 MiB.
constexpr int64_t kMostKeptNumbers = 8 << 20;
constexpr int64_t kMostKeptExamples = 1 << 20;

// Of n examples in the order of their part of the data. Tensors are of float32, on the CPU.
struct ExampleResults {
  std::string loss;           // the job's, or that which a plug-in's is like: as for objective_info()
  std::string part = "test";  // of the data: test, validation or train
  std::string examples = {};  // the same text for the same examples alone
  at::Tensor losses = {};     // [n], as evaluations report them
  at::Tensor targets = {};    // [n, targets]: the class, or numbers
  at::Tensor outputs = {};    // [n, outputs]: what the model computes; of classes, logits

  int64_t size() const { return losses.size(0); }
  const ObjectiveInfo& info() const { return objective_info(loss); }
  bool has_answers() const { return info().outputs == Outputs::kYesNoLogits; }
  // Whether outputs are classes, or answers of yes or no: only these have what follows.
  bool has_probabilities() const { return info().outputs != Outputs::kValues; }
  // Why nothing can be computed from these results. Empty: it can.
  std::string problem() const;
  // For each class or yes, [n, outputs]: its probability (float64), whether it is right, and is predicted.
  at::Tensor probabilities() const;
  at::Tensor wanted() const;
  at::Tensor predicted() const;
  // Whether the prediction for each example is right. Undefined unless it is a class or a single answer.
  at::Tensor right() const;
};

// Replaces the file. Throws as write_file_atomically().
void write_examples(const std::filesystem::path& file, const ExampleResults& results);

// nullopt: there is no such file. Throws Error(kUsage) if it is damaged or has a problem(): it may come from
// anywhere.
std::optional<ExampleResults> read_examples(const std::filesystem::path& file);

// How good probabilities are as such, and what each threshold for them would find.

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
