// What a saved model makes of the test examples, without any strategy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "train/job_plan.h"

namespace dtrain {

struct Evaluation {
  int64_t examples = 0;
  double loss = 0;                              // mean cross-entropy
  std::vector<std::vector<int64_t>> confusion;  // [class][predicted class], numbers of examples

  int64_t correct() const;
  int64_t examples_of(size_t label) const;
  double accuracy() const;  // 0 to 1
};

// The job of a checkpoint, as it was resolved, with `overrides` as for --set and the data that `look`
// (find_dataset or describe_dataset) describes. What is wrong with it is in `loaded.problems`.
JobPlan job_of_checkpoint(const TrainingState& state, const std::vector<std::string>& overrides,
                          DatasetInfo (*look)(const DataSpec&), LoadedSpec& loaded);

// Every test example once, on this process's cores. Throws Error(kCheckpoint) when the variables are not
// those of the job's model, Error(kData) without test examples.
Evaluation evaluate_model(const JobPlan& job, const NamedTensors& variables);

}  // namespace dtrain
