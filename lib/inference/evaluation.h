// What a saved model makes of the test examples, by any number of replicas and without any strategy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "comm/process_group.h"
#include "models/model.h"
#include "plan/job_plan.h"

namespace dtrain {

// More classes than that have no confusion matrix: it would take gigabytes.
constexpr int64_t kMostConfusedClasses = 1000;

struct Evaluation {
  double loss = 0;                              // mean cross-entropy
  std::vector<int64_t> examples_of;             // by class
  std::vector<int64_t> correct_of;              // of these, those that were predicted right
  std::vector<std::vector<int64_t>> confusion;  // [class][predicted class]; empty over kMostConfusedClasses

  int64_t examples() const;
  int64_t correct() const;
  double accuracy() const;                                // 0 to 1
  std::optional<double> accuracy_of(size_t label) const;  // nullopt: there are no examples of that class
};

// What evaluations are made of: these can be added, and sent.
struct EvaluationSums {
  double loss = 0;  // sum of cross-entropies
  std::vector<int64_t>
      counts;  // examples of each class, correct ones of each, the rows of the confusion matrix
};
Evaluation evaluation_from(const EvaluationSums& sums, int64_t classes);

// The job of a checkpoint, as it was resolved, with `overrides` as for --set and the data that `look`
// (find_dataset or describe_dataset) describes. What is wrong with it is in `loaded.problems`. Throws
// Error(kCheckpoint) when its model is not the one whose variables are saved there: the spec may be
// anybody's, and after this a model of it takes no more memory than the checkpoint's files.
JobPlan job_of_checkpoint(const std::filesystem::path& checkpoint, const std::vector<std::string>& overrides,
                          DatasetInfo (*look)(const DataSpec&), LoadedSpec& loaded);

// The job's model with these variables, for use. Throws Error(kCheckpoint) when they are another model's.
std::shared_ptr<Model> trained_model(const JobPlan& job, const NamedTensors& variables);

// What the model makes of inputs [n, ...], as float64 [n, classes]. Throws Error(kCheckpoint) when one of
// them is not a finite number: no use can be made of such a model.
at::Tensor finite_logits(Model& model, const at::Tensor& inputs);

// The job's test examples. Throws Error(kData) when there are none.
ExampleSourcePtr load_test_examples(const JobPlan& job);

// Every example once, shared among the ranks of `group` without padding; collective, and all ranks get the
// sums. The variables of rank 0 are those of `model` on every rank afterwards. Throws Error(kBug) when an
// example was forgotten.
EvaluationSums evaluate_model(const JobPlan& job, Model& model, const ExampleSourcePtr& examples,
                              ProcessGroup& group);

}  // namespace dtrain
