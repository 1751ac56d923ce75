// Evaluates a saved model on a part of its data, with any number of replicas and without a strategy.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "comm/process_group.h"
#include "data/example_source.h"
#include "judge/intervals.h"
#include "metrics/events.h"
#include "models/model.h"
#include "plan/job_plan.h"
#include "processes/supervisor.h"

namespace dtrain {

constexpr size_t kMostGroups = 1000;

struct GroupMetrics {
  std::string name;
  int64_t examples = 0;
  MetricValues metrics;
  NamedIntervals intervals;
};

// The examples of each group, by the group's name.
using ExampleGroups = std::map<std::string, std::vector<int64_t>>;

// `by`: for a table, a column; for pictures, "folder" or a pattern of file names as in data.split.group.
// Throws Error(kUsage) if the examples have no names or more than kMostGroups groups, Error(kData) if the
// column cannot be read or a name does not match the pattern.
ExampleGroups groups_of(const JobPlan& job, const ExampleSource& examples, const std::string& by);

// The metrics of each group, in the order of the groups' names.
std::vector<GroupMetrics> metrics_by_group(const ExampleResults& results, const ExampleGroups& groups);

// find_dataset(). If the data of a run are not there, the error says how eval is told where they are now.
DatasetInfo find_dataset_of_run(const DataSpec& spec);

// With more classes than this there is no confusion matrix: it would take gigabytes.
constexpr int64_t kMostConfusedClasses = 1000;

// An example that a model takes for something else.
struct WrongExample {
  int64_t index = 0;  // among the examples
  ExampleName name = {};
  int64_t label = 0;       // its class
  int64_t prediction = 0;  // another one
  double probability = 0;  // of the prediction
  double of_label = 0;     // the probability of its class
};

// The wrong predictions whose own class had the least probability, worst first. The order in which they are
// added does not matter.
class WorstMistakes {
 public:
  explicit WorstMistakes(size_t most) : most_(most) {}

  void add(WrongExample example);
  // Adds what is wrong among the examples `indices`. Targets int64 [n], probabilities float64 [n, classes].
  void add_batch(const at::Tensor& targets, const at::Tensor& probabilities,
                 std::span<const int64_t> indices);
  // At most as many as the limit.
  std::vector<WrongExample> take();

 private:
  void keep_worst();

  size_t most_;
  std::vector<WrongExample> found_;
};

struct Evaluation {
  int64_t examples = 0;
  MetricValues metrics;  // of the job's loss
  // If the targets are numbers: rmse, mae and r2 of each. Otherwise empty.
  std::vector<MetricValues> outputs;
  // By class; or by output if the targets are numbers that say yes or no. Otherwise empty.
  std::vector<ClassCounts> classes;
  // For each output that says yes or no; nullopt: all its targets are the same.
  std::vector<std::optional<AreaUnderCurve>> areas;
  std::optional<AreaUnderCurve> mean_area;
  // If the targets are classes, at most kMostConfusedClasses.
  std::vector<std::vector<int64_t>> confusion;  // [class][predicted class]
  std::vector<WrongExample> mistakes;           // as many as were asked for, the worst first
  NamedIntervals intervals;                     // if the results of its examples are known
  std::vector<GroupMetrics> groups;             // as EvaluationJob::by says

  int64_t correct() const;
};

// The sums from which an evaluation is computed. They can be added and sent.
struct EvaluationSums {
  std::vector<double> sums;        // of the job's loss, in the order of ObjectiveInfo::sum_names()
  std::vector<int64_t> counts;     // Counts::numbers()
  std::vector<int64_t> confusion;  // the rows of the matrix
  std::vector<WrongExample> mistakes = {};
  std::vector<float> examples = {};  // the sum of placed_rows(); empty: they are not kept
};
Evaluation evaluation_from(const EvaluationSums& sums, const JobPlan& job);

// The resolved spec of a checkpoint's job, with `overrides` as for --set.
LoadedSpec spec_of_checkpoint(const std::filesystem::path& checkpoint, const Overrides& overrides = {});

// Throws Error(kData) for inputs at `path` that are unsigned bytes if those of the training, on arrays that
// `trained` describes, were other numbers, or the reverse: bytes were divided by 255.
void require_bytes_as_trained(const std::string& path, bool are_bytes, const DatasetInfo& trained);

// The plan of the checkpoint's job, for the data that `look` (find_dataset or describe_dataset) describes.
// Throws Error(kCheckpoint) if its model does not match the saved variables, Error(kData) as
// require_bytes_as_trained() does. The spec is untrusted; after this check, its model takes no more memory
// than the checkpoint's files.
PlannedJob job_of_checkpoint(const std::filesystem::path& checkpoint, const LoadedSpec& spec,
                             DatasetInfo (*look)(const DataSpec&));

// The job's model with these variables, ready for inference. Throws Error(kCheckpoint) if they are another
// model's.
std::shared_ptr<Model> trained_model(const JobPlan& job, const NamedTensors& variables);

// The outputs of the job's model for inputs [n, ...], as float64 [n, classes], or [n, numbers to predict];
// with evaluate.flip and zoom as evaluated_outputs() says. Throws Error(kCheckpoint) if one of the outputs is
// not finite: such a model cannot be used.
at::Tensor finite_outputs(const JobSpec& job, Model& model, const at::Tensor& inputs);

// Why the "validation" or "test" examples of the job, as its data are now, say nothing or too much good of a
// model that was trained with `state`: they are those of a fallback, or data.split draws other ones. Empty:
// nothing is known against them.
std::string doubt_about_examples(const JobPlan& job, const TrainingState& state, const std::string& part);

// The job's "train", "validation" or "test" examples. Throws Error(kData) if there are none, Error(kUsage)
// for "validation" if its spec has no data.split.
ExampleSourcePtr load_examples(const JobPlan& job, const std::string& part = "test");

// Evaluates every example once. The examples are divided among the ranks of `group` without padding.
// Collective. All ranks get the sums. If the model has classes, each rank also gets the `most_mistakes` worst
// mistakes among its own examples. `keeps_rows`: also a row for each example, unless they are too many.
// Afterwards `model` has rank 0's variables on every rank. Throws Error(kBug) if an example was missed.
EvaluationSums evaluate_model(const JobPlan& job, Model& model, const ExampleSourcePtr& examples,
                              ProcessGroup& group, size_t most_mistakes = 0, bool keeps_rows = false);

// An evaluation of a checkpoint by one process or several on this host.
constexpr int64_t kMaxEvaluationReplicas = 64;

struct EvaluationJob {
  std::filesystem::path checkpoint;  // already verified
  Overrides overrides;               // overrides of its spec, without problems
  int64_t replicas = 1;
  std::string split = "test";  // the part of the data: as load_examples() takes it
  int64_t mistakes = 0;        // how many of the worst to report; only for models of classes
  std::string by = {};         // metrics by group: as groups_of() takes it; empty: none
  std::string best_by = {};    // the metric by which the checkpoint is the best of its run; empty: it was
                               // not chosen so
};

// Evaluates by one process or several. If all succeed, `result` has the evaluation, with intervals; the
// return value reports what failed. Throws before it evaluates if there cannot be metrics by group.
SuperviseResult evaluate(const EvaluationJob& evaluation, const JobPlan& job, Evaluation& result);

// The hidden subcommand `eval-replica`: takes part in evaluate() as one of its processes.
ExitCode run_evaluation_replica(const EvaluationJob& evaluation);

}  // namespace dtrain
