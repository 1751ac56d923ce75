#include "traits/objectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/named.h"
#include "core/remade_table.h"

namespace dtrain {
namespace {

// A metric from 0 to 1, of which more is better: one of the two functions makes it.
MetricInfo fraction_metric(const char* name, double (*of_sums)(const ExampleSums& sum),
                           double (*of_counts)(const Counts& counts) = nullptr) {
  return {name, /*higher_is_better=*/true, MetricUnit::kFraction, of_sums, of_counts};
}
MetricInfo loss_metric() {
  return {"loss", /*higher_is_better=*/false, MetricUnit::kNumber,
          [](const ExampleSums& sum) { return sum("loss") / sum("examples"); }};
}
MetricInfo accuracy_metric() {
  return fraction_metric("accuracy", [](const ExampleSums& sum) { return sum("correct") / sum("examples"); });
}
// The mean over the classes or outputs.
template <double (ClassCounts::*value)() const>
MetricInfo macro_metric(const char* name) {
  return fraction_metric(name, nullptr, [](const Counts& counts) { return macro_mean(counts, value); });
}

// For logits [n, classes] and the index of each example's class, int64 [n].
ObjectiveInfo cross_entropy_info() {
  return {.name = "cross_entropy",
          .targets = Targets::kClass,
          .outputs = Outputs::kClassLogits,
          .sums = {"correct"},
          .metrics = {loss_metric(), accuracy_metric()},
          .of_evaluations = {fraction_metric("top_5_accuracy", nullptr, top_accuracy),
                             macro_metric<&ClassCounts::precision>("macro_precision"),
                             macro_metric<&ClassCounts::recall>("macro_recall"),
                             macro_metric<&ClassCounts::f1>("macro_f1")}};
}

// part / whole; 0 where there is nothing to find or nothing was found, as in Keras and scikit-learn.
double share(const ExampleSums& sum, double part, double whole) {
  if (sum("examples") == 0) return std::nan("");
  return whole == 0 ? 0 : part / whole;
}

double precision(const ExampleSums& sum) {
  return share(sum, sum("true_positives"), sum("predicted_positives"));
}
double recall(const ExampleSums& sum) { return share(sum, sum("true_positives"), sum("positives")); }
double f1(const ExampleSums& sum) {
  return share(sum, 2 * sum("true_positives"), sum("predicted_positives") + sum("positives"));
}
double mean_area(const Counts& counts) {
  const auto area = mean_area_under_curve(counts);
  return area ? area->value : std::nan("");
}

// For logits [n, outputs] and as many targets from 0 to 1; or logits [n, 1] and classes 0 and 1, int64 [n].
// `correct` counts the outputs of an example together as one; the other sums count each.
ObjectiveInfo binary_cross_entropy_info() {
  return {.name = "binary_cross_entropy",
          .targets = Targets::kEither,
          .outputs = Outputs::kYesNoLogits,
          .sums = {"correct", "true_positives", "predicted_positives", "positives"},
          .metrics = {loss_metric(), accuracy_metric(), fraction_metric("precision", precision),
                      fraction_metric("recall", recall), fraction_metric("f1", f1)},
          .of_evaluations = {macro_metric<&ClassCounts::precision>("macro_precision"),
                             macro_metric<&ClassCounts::recall>("macro_recall"),
                             macro_metric<&ClassCounts::f1>("macro_f1"),
                             fraction_metric("auc", nullptr, mean_area)}};
}

// Over all outputs of all examples.
double mean_of_outputs(const ExampleSums& sum, const char* name) {
  return sum(name) / static_cast<double>(sum.outputs()) / sum("examples");
}

double rmse(const ExampleSums& sum) { return std::sqrt(mean_of_outputs(sum, "squared_errors")); }
double mae(const ExampleSums& sum) { return mean_of_outputs(sum, "absolute_errors"); }
// What is below this share of the sum of squares is its rounding: the targets are all the same.
constexpr double kRounding = 1e-13;
double r2_of(const ExampleSums& sum, int64_t output) {
  const double errors = sum("squared_errors", output), squares = sum("squared_targets", output);
  const double targets = sum("targets", output);
  const double deviations = squares - targets * targets / sum("examples");
  if (deviations <= kRounding * squares) return errors == 0 ? 1.0 : 0.0;
  return 1 - errors / deviations;
}
// The mean over the outputs, as in scikit-learn: the distance between two outputs' means explains nothing.
double r2(const ExampleSums& sum) {
  double total = 0;
  for (int64_t output = 0; output < sum.outputs(); ++output) total += r2_of(sum, output);
  return total / static_cast<double>(sum.outputs());
}

// Of any loss of numbers: values [n, outputs] and as many targets.
ObjectiveInfo regression_info(const std::string& name) {
  return {.name = name,
          .targets = Targets::kNumbers,
          .outputs = Outputs::kValues,
          .output_sums = {"squared_errors", "absolute_errors"},
          .target_sums = {"targets", "squared_targets"},
          .metrics = {loss_metric(),
                      {"rmse", /*higher_is_better=*/false, MetricUnit::kNumber, rmse},
                      {"mae", /*higher_is_better=*/false, MetricUnit::kNumber, mae},
                      {"r2", /*higher_is_better=*/true, MetricUnit::kNumber, r2}}};
}

std::vector<ObjectiveInfo>& added_objectives() {
  static std::vector<ObjectiveInfo> added;
  return added;
}

const std::vector<ObjectiveInfo>& objectives() {
  return remade([] {
    std::vector<ObjectiveInfo> all = {
        cross_entropy_info(),
        binary_cross_entropy_info(),
        regression_info("mean_squared_error"),
        regression_info("mean_absolute_error"),
        regression_info("huber"),
        regression_info("log_cosh"),
    };
    all.insert(all.end(), added_objectives().begin(), added_objectives().end());
    return all;
  });
}

}  // namespace

ExampleSums::ExampleSums(const ObjectiveInfo& objective, std::vector<double> values)
    : objective_(&objective), names_(objective.sum_names(1)), values_(std::move(values)) {
  const int64_t of_an_output = objective.sum_count(1) - objective.sum_count(0);
  if (of_an_output > 0) outputs_ = (std::ssize(values_) - objective.sum_count(0)) / of_an_output;
}

size_t ExampleSums::first_of(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) throw Error(ExitCode::kBug, "no sum '{}'", name);
  const auto place = found - names_.begin(), single = std::ptrdiff_t{objective_->sum_count(0)};
  return static_cast<size_t>(place < single ? place : single + (place - single) * outputs_);
}

double ExampleSums::operator()(const std::string& name) const {
  const size_t first = first_of(name);
  if (static_cast<int64_t>(first) < objective_->sum_count(0)) return values_.at(first);
  double total = 0;
  for (int64_t output = 0; output < outputs_; ++output)
    total += values_.at(first + static_cast<size_t>(output));
  return total;
}

double ExampleSums::operator()(const std::string& name, int64_t output) const {
  return values_.at(first_of(name) + static_cast<size_t>(output));
}

ExampleSums ExampleSums::of_output(int64_t output) const {
  std::vector<double> own(values_.begin(), values_.begin() + objective_->sum_count(0));
  own[kLossSum] = std::nan("");
  for (const auto* names : {&objective_->output_sums, &objective_->target_sums}) {
    for (const std::string& name : *names) own.push_back((*this)(name, output));
  }
  return {*objective_, std::move(own)};
}

std::vector<std::string> ObjectiveInfo::sum_names(int64_t outputs) const {
  std::vector<std::string> names = {"loss", "examples"};
  names.insert(names.end(), sums.begin(), sums.end());
  for (const auto* own : {&output_sums, &target_sums}) {
    for (const std::string& name : *own) {
      for (int64_t output = 0; output < outputs; ++output)
        names.push_back(outputs == 1 ? name : fmt::format("{}.{}", name, output));
    }
  }
  return names;
}

int64_t ObjectiveInfo::sum_count(int64_t outputs) const {
  return 2 + std::ssize(sums) + (std::ssize(output_sums) + std::ssize(target_sums)) * outputs;
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

void add_objective(const ObjectiveInfo& objective) {
  added_objectives().push_back(objective);
  ++kinds_added;
}

const ObjectiveInfo& objective_info(const std::string& name) {
  return row_named(objectives(), name, "objective");
}

std::vector<std::string> objective_names() { return names_of_rows(objectives()); }

std::vector<std::string> objectives_for(Targets targets) {
  return names_where(objectives(),
                     [=](const ObjectiveInfo& one) { return one.targets == targets && !one.is_step; });
}

std::vector<std::string> objectives_of_classes() {
  return names_where(objectives(), [](const ObjectiveInfo& one) {
    return one.outputs != Outputs::kValues && one.base.empty();
  });
}

std::vector<std::string> objectives_with(Outputs outputs) {
  return names_where(objectives(), [=](const ObjectiveInfo& one) { return one.outputs == outputs; });
}

const std::vector<MetricInfo>& known_metrics() {
  return remade([] {
    std::vector<MetricInfo> all;
    const auto add = [&all](const std::vector<MetricInfo>& metrics) {
      for (const MetricInfo& metric : metrics) {
        if (std::ranges::none_of(all, [&](const auto& known) { return known.name == metric.name; }))
          all.push_back(metric);
      }
    };
    for (const ObjectiveInfo& objective : objectives()) add(objective.metrics);
    for (const ObjectiveInfo& objective : objectives()) add(objective.of_evaluations);
    return all;
  });
}

std::vector<std::string> metric_names() { return names_of_rows(known_metrics()); }

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

const MetricInfo& metric_info(const std::string& name) { return row_named(known_metrics(), name, "metric"); }

bool is_better(const std::string& metric, const std::string& mode, double value, double other) {
  const bool lower = mode == "min" || (mode == "auto" && !metric_info(metric).higher_is_better);
  return lower ? value < other : value > other;
}

}  // namespace dtrain
