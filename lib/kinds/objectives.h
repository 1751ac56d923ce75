// The losses that a training can minimise and the metrics that follow from each. This table has the names and
// directions; lib/objective computes them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

// Values by name, in the order in which they are shown: {{"loss", 0.31}, {"accuracy", 0.9}}.
using MetricValues = std::vector<std::pair<std::string, double>>;

enum class MetricUnit { kNumber, kFraction };  // kFraction: 0 to 1

// A sum over examples by its name: one of ObjectiveInfo::sum_names().
using SumLookup = std::function<double(const std::string& name)>;

struct MetricInfo {
  std::string name;  // in events, checkpoints and the fields of a spec
  bool higher_is_better = false;
  MetricUnit unit = MetricUnit::kNumber;
  double (*value)(const SumLookup& sum) = nullptr;  // NaN when there are no examples
};

struct ObjectiveInfo {
  std::string name;
  // What a step adds up over examples besides the loss, which comes first, and their number, which comes
  // last.
  std::vector<std::string> sums;
  std::vector<MetricInfo> metrics;  // the loss first

  // {"loss", "examples", what `sums` has}
  std::vector<std::string> sum_names() const;
};

// Throws Error(kBug) for a name that is not in the table: specs are checked before.
const ObjectiveInfo& objective_info(const std::string& name);
std::vector<std::string> objective_names();

// Of all objectives, each name once.
const std::vector<MetricInfo>& known_metrics();
std::vector<std::string> metric_names();
// nullopt: it is not among them.
std::optional<double> find_metric(const MetricValues& metrics, const std::string& name);
// Throws Error(kBug) for a name that no objective has.
const MetricInfo& metric_info(const std::string& name);

}  // namespace dtrain
