// The losses that training can minimise, and the metrics that each of them provides. This table has their
// names and directions; lib/objective computes them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kinds/counts.h"

namespace dtrain {

// Values by name, in the order in which they are shown: {{"loss", 0.31}, {"accuracy", 0.9}}.
using MetricValues = std::vector<std::pair<std::string, double>>;

enum class MetricUnit { kNumber, kFraction };  // kFraction: 0 to 1

// Returns the sum over examples with this name, which is one of ObjectiveInfo::sum_names().
using SumLookup = std::function<double(const std::string& name)>;

struct MetricInfo {
  std::string name;  // as used in events, checkpoints and the fields of a spec
  bool higher_is_better = false;
  MetricUnit unit = MetricUnit::kNumber;
  double (*value)(const SumLookup& sum) = nullptr;  // NaN if there are no examples
  // Instead of `value`: the metric is one of evaluations alone. NaN where it has no value.
  double (*of_counts)(const Counts& counts) = nullptr;

  bool is_of_evaluations() const { return of_counts != nullptr; }
};

// Where sum_names() has them.
constexpr size_t kLossSum = 0;
constexpr size_t kExamplesSum = 1;

// What an example's target is: its class, numbers, or for some losses either.
enum class Targets { kClass, kNumbers, kEither };

struct ObjectiveInfo {
  std::string name;
  Targets targets = Targets::kClass;
  // What a step sums over examples in addition to the loss and the number of examples.
  std::vector<std::string> sums;
  std::vector<MetricInfo> metrics;              // starting with the loss and the main one
  std::vector<MetricInfo> of_evaluations = {};  // those that evaluations have besides

  // The metric that says how good a model is, where there is room for one besides the loss.
  const MetricInfo& main() const { return metrics[1]; }
  std::vector<MetricInfo> all_metrics() const;
  // The values of the metrics of evaluations that have one.
  MetricValues values_of(const Counts& counts) const;

  // {"loss", "examples", then the names in `sums`}: the order in which sums are kept and sent.
  std::vector<std::string> sum_names() const;
};

// Throws Error(kBug) if the name is not in the table, because specs are checked before.
const ObjectiveInfo& objective_info(const std::string& name);
std::vector<std::string> objective_names();

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

// Whether `value` of a known metric is better than `other`. `mode`: min, max, or auto for the metric's own
// direction.
bool is_better(const std::string& metric, const std::string& mode, double value, double other);

}  // namespace dtrain
