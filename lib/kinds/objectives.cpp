#include "kinds/objectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

// part / whole; 0 where there is nothing to find or nothing was found, as in Keras and scikit-learn.
double share(const SumLookup& sum, double part, double whole) {
  if (sum("examples") == 0) return std::nan("");
  return whole == 0 ? 0 : part / whole;
}
MetricInfo precision() {
  return {"precision", /*higher_is_better=*/true, MetricUnit::kFraction,
          [](const SumLookup& sum) { return share(sum, sum("true_positives"), sum("predicted_positives")); }};
}
MetricInfo recall() {
  return {"recall", /*higher_is_better=*/true, MetricUnit::kFraction,
          [](const SumLookup& sum) { return share(sum, sum("true_positives"), sum("positives")); }};
}
MetricInfo f1() {
  return {"f1", /*higher_is_better=*/true, MetricUnit::kFraction, [](const SumLookup& sum) {
            return share(sum, 2 * sum("true_positives"), sum("predicted_positives") + sum("positives"));
          }};
}

MetricInfo of_evaluations(const char* name, double (*of_counts)(const Counts& counts)) {
  return {name, /*higher_is_better=*/true, MetricUnit::kFraction, nullptr, of_counts};
}
MetricInfo top_5_accuracy() { return of_evaluations("top_5_accuracy", top_accuracy); }
MetricInfo macro_precision() {
  return of_evaluations("macro_precision",
                        [](const Counts& counts) { return macro_mean(counts, &ClassCounts::precision); });
}
MetricInfo macro_recall() {
  return of_evaluations("macro_recall",
                        [](const Counts& counts) { return macro_mean(counts, &ClassCounts::recall); });
}
MetricInfo macro_f1() {
  return of_evaluations("macro_f1",
                        [](const Counts& counts) { return macro_mean(counts, &ClassCounts::f1); });
}
MetricInfo auc() {
  return of_evaluations("auc", [](const Counts& counts) {
    const auto area = mean_area_under_curve(counts);
    return area ? area->value : std::nan("");
  });
}

MetricInfo rmse() {
  return {"rmse", /*higher_is_better=*/false, MetricUnit::kNumber,
          [](const SumLookup& sum) { return std::sqrt(sum("squared_errors") / sum("examples")); }};
}
MetricInfo mae() {
  return {"mae", /*higher_is_better=*/false, MetricUnit::kNumber,
          [](const SumLookup& sum) { return sum("absolute_errors") / sum("examples"); }};
}
// What is below this share of the sum of squares is its rounding: the targets are all the same.
constexpr double kRounding = 1e-13;
MetricInfo r2() {
  return {"r2", /*higher_is_better=*/true, MetricUnit::kNumber, [](const SumLookup& sum) {
            const double errors = sum("squared_errors"), squares = sum("squared_targets");
            const double deviations = squares - sum("targets") * sum("targets") / sum("examples");
            if (deviations <= kRounding * squares) return errors == 0 ? 1.0 : 0.0;
            return 1 - errors / deviations;
          }};
}

ObjectiveInfo of_numbers(const char* name) {
  return {.name = name,
          .targets = Targets::kNumbers,
          .sums = {"squared_errors", "absolute_errors", "targets", "squared_targets"},
          .metrics = {loss(), rmse(), mae(), r2()}};
}

const std::vector<ObjectiveInfo>& objectives() {
  static const std::vector<ObjectiveInfo> table = {
      // For logits [n, classes] and the index of each example's class, int64 [n].
      {.name = "cross_entropy",
       .targets = Targets::kClass,
       .sums = {"correct"},
       .metrics = {loss(), accuracy()},
       .of_evaluations = {top_5_accuracy(), macro_precision(), macro_recall(), macro_f1()}},
      // For logits [n, outputs] and as many targets from 0 to 1; or logits [n, 1] and classes 0 and 1, int64
      // [n]. `correct` counts the outputs of an example together as one; the other sums count each.
      {.name = "binary_cross_entropy",
       .targets = Targets::kEither,
       .sums = {"correct", "true_positives", "predicted_positives", "positives"},
       .metrics = {loss(), accuracy(), precision(), recall(), f1()},
       .of_evaluations = {macro_precision(), macro_recall(), macro_f1(), auc()}},
      // For values [n, outputs] and as many targets. Each sum is of the means over an example's outputs.
      of_numbers("mean_squared_error"),
      of_numbers("mean_absolute_error"),
      of_numbers("huber"),
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

std::vector<MetricInfo> ObjectiveInfo::all_metrics() const {
  std::vector<MetricInfo> all = metrics;
  all.insert(all.end(), of_evaluations.begin(), of_evaluations.end());
  return all;
}

MetricValues ObjectiveInfo::values_of(const Counts& counts) const {
  MetricValues values;
  for (const MetricInfo& metric : of_evaluations) {
    const double value = counts.rows() == 0 ? std::nan("") : metric.of_counts(counts);
    if (!std::isnan(value)) values.emplace_back(metric.name, value);
  }
  return values;
}

const ObjectiveInfo& objective_info(const std::string& name) { return find(objectives(), name, "objective"); }

std::vector<std::string> objective_names() { return names_of(objectives()); }

const std::vector<MetricInfo>& known_metrics() {
  static const std::vector<MetricInfo> metrics = [] {
    std::vector<MetricInfo> all;
    const auto add = [&all](const std::vector<MetricInfo>& metrics) {
      for (const MetricInfo& metric : metrics) {
        if (std::none_of(all.begin(), all.end(),
                         [&](const auto& known) { return known.name == metric.name; }))
          all.push_back(metric);
      }
    };
    for (const ObjectiveInfo& objective : objectives()) add(objective.metrics);
    for (const ObjectiveInfo& objective : objectives()) add(objective.of_evaluations);
    return all;
  }();
  return metrics;
}

std::vector<std::string> metric_names() { return names_of(known_metrics()); }

std::string main_metric_of(const MetricValues& metrics) {
  for (const MetricInfo& known : known_metrics()) {
    if (known.name != "loss" && find_metric(metrics, known.name)) return known.name;
  }
  return "loss";
}

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
