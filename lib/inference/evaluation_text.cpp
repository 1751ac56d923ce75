#include "inference/evaluation_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace dtrain {
namespace {

constexpr size_t kMostShown = 40;  // the most classes whose matrix is shown

std::string title_of(const JobPlan& job, size_t label) {
  return class_title(job.data, static_cast<int64_t>(label));
}

size_t widest_title(const JobPlan& job, size_t classes) {
  size_t width = 5;
  for (size_t label = 0; label < classes; ++label) width = std::max(width, title_of(job, label).size());
  return width;
}

std::string metric_line(const JobPlan& job, const Evaluation& result, const std::string& name, double value) {
  if (name == "accuracy" && job.data.classes > 0)
    return fmt::format("{:<12}{:.4f}, {} of {} are right\n", name, value, with_separators(result.correct()),
                       with_separators(result.examples));
  return metric_info(name).unit == MetricUnit::kFraction ? fmt::format("{:<12}{:.4f}\n", name, value)
                                                         : fmt::format("{:<12}{:.6g}\n", name, value);
}

std::string classes_text(const JobPlan& job, const Evaluation& result) {
  const size_t width = widest_title(job, result.examples_of.size());
  std::string text =
      fmt::format("\n  {:<{}}  {:>10}  {:>10}  {:>10}\n", "class", width, "examples", "correct", "accuracy");
  for (size_t label = 0; label < result.examples_of.size(); ++label) {
    const auto accuracy = result.accuracy_of(label);
    text += fmt::format("  {:<{}}  {:>10}  {:>10}  {:>10}\n", title_of(job, label), width,
                        with_separators(result.examples_of[label]), with_separators(result.correct_of[label]),
                        accuracy ? fmt::format("{:.4f}", *accuracy) : "-");
  }
  return text;
}

std::string confusion_text(const JobPlan& job, const Evaluation& result) {
  const size_t title = widest_title(job, result.confusion.size());
  size_t width = 4;
  for (const auto& row : result.confusion) {
    for (const int64_t count : row) width = std::max(width, std::to_string(count).size());
  }
  std::string text = "\nconfusion: a row for each class, a column for each prediction\n";
  text += fmt::format("  {:<{}}", "", title);
  for (size_t label = 0; label < result.confusion.size(); ++label)
    text += fmt::format("  {:>{}}", label, width);
  text += "\n";
  for (size_t label = 0; label < result.confusion.size(); ++label) {
    text += fmt::format("  {:<{}}", title_of(job, label), title);
    for (const int64_t count : result.confusion[label]) text += fmt::format("  {:>{}}", count, width);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string evaluation_text(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result) {
  std::string text = fmt::format("{:<12}{}\n", "checkpoint", printable(evaluation.checkpoint.string(), 1000));
  text +=
      fmt::format("{:<12}{}, {} {} examples\n", "dataset", job.data.name, with_separators(result.examples),
                  evaluation.split == "train" ? "training" : evaluation.split);
  for (const auto& [name, value] : result.metrics) text += metric_line(job, result, name, value);
  if (job.data.classes > 0) text += classes_text(job, result);
  if (!result.confusion.empty() && result.confusion.size() <= kMostShown) text += confusion_text(job, result);
  return text;
}

Event evaluation_document(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result) {
  Event json = {{"checkpoint", evaluation.checkpoint.string()},
                {"dataset", job.data.name},
                {"split", evaluation.split},
                {"examples", result.examples}};
  for (const auto& [name, value] : result.metrics) json[name] = value;
  if (job.data.classes == 0) return json;
  json["correct"] = result.correct();
  json["classes"] = Event::array();
  for (size_t label = 0; label < result.examples_of.size(); ++label) {
    Event one = {{"class", label}};
    if (!job.data.class_names.empty()) one["name"] = job.data.class_names[label];
    one["examples"] = result.examples_of[label];
    one["correct"] = result.correct_of[label];
    if (const auto accuracy = result.accuracy_of(label)) one["accuracy"] = *accuracy;
    json["classes"].push_back(one);
  }
  if (!result.confusion.empty()) json["confusion"] = result.confusion;
  return json;
}

}  // namespace dtrain
