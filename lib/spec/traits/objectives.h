// The losses that training can minimise, and the metrics of each. The table in objectives.cpp describes them;
// room `objective` computes them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traits/counts.h"

namespace dtrain {

// Values by name, in the order in which they are shown: {{"loss", 0.31}, {"accuracy", 0.9}}.
using MetricValues = std::vector<std::pair<std::string, double>>;

enum class MetricUnit { kNumber, kFraction };  // kFraction: 0 to 1

struct ObjectiveInfo;

// Sums over examples by their names, in the order of ObjectiveInfo::sum_names().
class ExampleSums {
 public:
  ExampleSums(const ObjectiveInfo& objective, std::vector<double> values);
  // A sum of ObjectiveInfo::sums, the loss or the examples; or the total of a sum that each output has.
  double operator()(const std::string& name) const;
  // The sum of one output.
  double operator()(const std::string& name, int64_t output) const;
  int64_t outputs() const { return outputs_; }  // that have sums of their own
  // The sums of a model that has this output alone. Its loss is not known: NaN.
  ExampleSums of_output(int64_t output) const;

 private:
  size_t first_of(const std::string& name) const;

  const ObjectiveInfo* objective_;
  std::vector<std::string> names_;  // of a single output: their places tell where the sums of each begin
  int64_t outputs_ = 0;
  std::vector<double> values_;
};

struct MetricInfo {
  std::string name;  // as used in events, checkpoints and the fields of a spec
  bool higher_is_better = false;
  MetricUnit unit = MetricUnit::kNumber;
  std::function<double(const ExampleSums& sum)> value = nullptr;  // NaN if there are no examples
  // Instead of `value`: the metric is one of evaluations alone. NaN where it has no value.
  double (*of_counts)(const Counts& counts) = nullptr;

  bool is_of_evaluations() const { return of_counts != nullptr; }
};

// Where sum_names() has them.
constexpr size_t kLossSum = 0;
constexpr size_t kExamplesSum = 1;

// What an example's target is: its class, numbers, or for some losses either.
enum class Targets { kClass, kNumbers, kEither };

// What a model's outputs are: a logit of each class, logits that each say yes or no, or the values.
enum class Outputs { kClassLogits, kYesNoLogits, kValues };

struct ObjectiveInfo {
  std::string name;
  Targets targets;
  Outputs outputs;
  // What a step sums over examples in addition to the loss and the number of examples. output_sums and
  // target_sums exist for each output; target_sums depend only on the targets.
  std::vector<std::string> sums = {};
  std::vector<std::string> output_sums = {};
  std::vector<std::string> target_sums = {};
  std::vector<MetricInfo> metrics;              // starting with the loss and the main one
  std::vector<MetricInfo> of_evaluations = {};  // those that evaluations have besides
  // For a plug-in's loss: the loss with the same metrics and predictions.
  std::string base = {};
  // A training step of a plug-in: it takes any targets, and any outputs of the model.
  bool is_step = false;

  // The one metric that is shown besides the loss where there is room for only one.
  const MetricInfo& main() const { return metrics.at(metrics.size() > 1 ? 1 : 0); }
  std::vector<MetricInfo> all_metrics() const;
  // The values of the metrics of evaluations that have one.
  MetricValues values_of(const Counts& counts) const;

  // {"loss", "examples", then the names in `sums`, those of output_sums and of target_sums}: the order in
  // which sums are kept and sent. Of several outputs, "targets.0" for the first one's "targets" and so on.
  std::vector<std::string> sum_names(int64_t outputs) const;
  // How many names these are, and how many of the last ones are sums of the targets alone.
  int64_t sum_count(int64_t outputs) const;
  int64_t target_sum_count(int64_t outputs) const { return std::ssize(target_sums) * outputs; }
};

// Adds a plug-in's loss to the table.
void add_objective(const ObjectiveInfo& objective);

// Throws Error(kBug) if the name is not in the table, because specs are checked before.
const ObjectiveInfo& objective_info(const std::string& name);
std::vector<std::string> objective_names();
std::vector<std::string> objectives_for(Targets targets);
std::vector<std::string> objectives_with(Outputs outputs);
// The program's own losses whose outputs are logits, and no values.
std::vector<std::string> objectives_of_classes();

// The metrics of all objectives, each name once.
const std::vector<MetricInfo>& known_metrics();
std::vector<std::string> metric_names();
// The main metric of the objective whose values these are: the first one after the loss, in the order of the
// table. "loss" if there is no other.
std::string main_metric_of(const MetricValues& metrics);
// nullopt if `metrics` has no such name.
std::optional<double> find_metric(const MetricValues& metrics, const std::string& name);
// Throws Error(kBug) if no objective has a metric of this name.
const MetricInfo& metric_info(const std::string& name);

// Whether `value` of a known metric is better than `other`. `mode`: min, max, or auto for the metric's own.
bool is_better(const std::string& metric, const std::string& mode, double value, double other);

}  // namespace dtrain
