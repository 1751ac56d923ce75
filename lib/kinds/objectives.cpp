#include "kinds/objectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace dtrain {
namespace {

// Functions and not constants, because other files use them to make tables before main().
MetricInfo loss() {
  return {"loss", /*higher_is_better=*/false, MetricUnit::kNumber,
          [](const SumLookup& sum) { return sum("loss") / sum("examples"); }};
}
MetricInfo accuracy() {
  return {"accuracy", /*higher_is_better=*/true, MetricUnit::kFraction,
          [](const SumLookup& sum) { return sum("correct") / sum("examples"); }};
}

const std::vector<ObjectiveInfo>& objectives() {
  static const std::vector<ObjectiveInfo> table = {
      // For logits [n, classes] and the index of each example's class, int64 [n].
      {.name = "cross_entropy", .sums = {"correct"}, .metrics = {loss(), accuracy()}},
  };
  return table;
}

template <class Table>
const auto& find(const Table& table, const std::string& name, const char* what) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  if (found == table.end()) throw Error(ExitCode::kBug, fmt::format("no {} '{}'", what, name));
  return *found;
}

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

}  // namespace

std::vector<std::string> ObjectiveInfo::sum_names() const {
  std::vector<std::string> names = {"loss", "examples"};
  names.insert(names.end(), sums.begin(), sums.end());
  return names;
}

const ObjectiveInfo& objective_info(const std::string& name) { return find(objectives(), name, "objective"); }

std::vector<std::string> objective_names() { return names_of(objectives()); }

const std::vector<MetricInfo>& known_metrics() {
  static const std::vector<MetricInfo> metrics = [] {
    std::vector<MetricInfo> all;
    for (const ObjectiveInfo& objective : objectives()) {
      for (const MetricInfo& metric : objective.metrics) {
        if (std::none_of(all.begin(), all.end(),
                         [&](const auto& known) { return known.name == metric.name; }))
          all.push_back(metric);
      }
    }
    return all;
  }();
  return metrics;
}

std::vector<std::string> metric_names() { return names_of(known_metrics()); }

std::optional<double> find_metric(const MetricValues& metrics, const std::string& name) {
  for (const auto& [known, value] : metrics) {
    if (known == name) return value;
  }
  return std::nullopt;
}

const MetricInfo& metric_info(const std::string& name) { return find(known_metrics(), name, "metric"); }

bool is_better(const std::string& metric, const std::string& mode, double value, double other) {
  const bool lower = mode == "min" || (mode == "auto" && !metric_info(metric).higher_is_better);
  return lower ? value < other : value > other;
}

}  // namespace dtrain
