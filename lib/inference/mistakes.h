// Which test examples a model takes for something else.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "plan/job_plan.h"

namespace dtrain {

struct WrongExample {
  int64_t index = 0;       // among the test examples
  int64_t label = 0;       // its class
  int64_t prediction = 0;  // another one
  double probability = 0;  // of the prediction
  double of_label = 0;     // the probability of its class
  at::Tensor image;        // uint8 [channels, height, width]
};

struct Mistakes {
  int64_t examples = 0;  // that were predicted
  int64_t correct = 0;
  std::vector<std::vector<int64_t>> confusion;  // [class][prediction]
  std::vector<WrongExample> worst;  // those whose class had the least probability, the worst first
};

// Predicts the test examples of a checkpoint's job, in this process with all cores: at most `most_examples`,
// the first ones. Throws Error(kData, kCheckpoint) as load_examples() and finite_outputs() do. The job
// has at most kMostConfusedClasses classes.
Mistakes find_mistakes(const JobPlan& job, const std::filesystem::path& checkpoint, int64_t most_examples,
                       size_t most_shown);

}  // namespace dtrain
