#include "inference/output.h"

#include <fmt/format.h>

#include "core/text.h"
#include "display/table_layout.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr size_t kMostShown = 40;  // the most classes whose matrix is shown

std::string title_of(const JobPlan& job, size_t label) {
  return class_title(job.data, static_cast<int64_t>(label));
}

// "3", or "3 clover" if the outputs have names.
std::string title_of_output(const JobPlan& job, size_t output) {
  const std::vector<std::string>& names = job.data.target_names;
  return names.empty() ? std::to_string(output) : fmt::format("{} {}", output, printable(names[output], 60));
}

std::string metric_line(const JobPlan& job, const Evaluation& result, const std::string& name, double value) {
  if (name.rfind("macro_", 0) == 0) return "";  // in the table of the classes
  if (name == "top_5_accuracy") return fmt::format("{:<12}{:.4f}\n", "top 5", value);
  if (name == "auc") return fmt::format("{:<12}{:.4f} +- {:.1g}\n", name, value, result.mean_area->error);
  if (name == "accuracy" && job.data.classes > 0)
    return fmt::format("{:<12}{:.4f}, {} of {} are right\n", name, value, with_separators(result.correct()),
                       with_separators(result.examples));
  return metric_info(name).unit == MetricUnit::kFraction ? fmt::format("{:<12}{:.4f}\n", name, value)
                                                         : fmt::format("{:<12}{:.6g}\n", name, value);
}

std::string share_text(int64_t part, int64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.4f}", static_cast<double>(part) / static_cast<double>(whole));
}

std::string table_of(const TableRows& rows, int width) {
  return "\n" + lay_out(rows, {.narrowest = 10, .width = width});
}

// The row below all classes or outputs: what the macro metrics are.
TableRow mean_row(const MetricValues& metrics, size_t columns) {
  const auto mean = [&](const char* name) {
    const auto value = find_metric(metrics, name);
    return value ? fmt::format("{:.4f}", *value) : "-";
  };
  TableRow row = {"mean", "", "", mean("macro_recall"), mean("macro_precision"), mean("macro_f1")};
  if (columns > row.size()) row.push_back(mean("auc"));
  return row;
}

// A class or output: how many examples there are of it, and the shares that are right.
TableRow counts_row(const std::string& title, const ClassCounts& one) {
  return {title,
          with_separators(one.actual),
          with_separators(one.correct),
          share_text(one.correct, one.actual),
          share_text(one.correct, one.predicted),
          share_text(2 * one.correct, one.predicted + one.actual)};
}

std::string classes_text(const JobPlan& job, const Evaluation& result, int width) {
  TableRows rows = {{"class", "examples", "correct", "accuracy", "precision", "f1"}};
  for (size_t label = 0; label < result.classes.size(); ++label)
    rows.push_back(counts_row(title_of(job, label), result.classes[label]));
  rows.push_back(mean_row(result.metrics, rows.front().size()));
  return table_of(rows, width);
}

std::string outputs_text(const JobPlan& job, const Evaluation& result, int width) {
  TableRows rows = {{"output", "yes", "found", "recall", "precision", "f1", "auc"}};
  const size_t outputs = result.areas.size();
  for (size_t output = 0; output < outputs; ++output) {
    const auto& area = result.areas[output];
    rows.push_back(
        counts_row(title_of_output(job, output), result.classes[result.classes.size() - outputs + output]));
    rows.back().push_back(area ? fmt::format("{:.4f}", area->value) : "-");
  }
  rows.push_back(mean_row(result.metrics, rows.front().size()));
  return table_of(rows, width);
}

// Of the numbers that a model predicts.
std::string numbers_text(const JobPlan& job, const Evaluation& result, int width) {
  TableRows rows = {{"target"}};
  for (const auto& [name, value] : result.outputs.front()) rows.front().push_back(name);
  for (size_t output = 0; output < result.outputs.size(); ++output) {
    TableRow& row = rows.emplace_back(TableRow{title_of_output(job, output)});
    for (const auto& [name, value] : result.outputs[output]) row.push_back(fmt::format("{:.6g}", value));
  }
  return table_of(rows, width);
}

std::string confusion_text(const JobPlan& job, const Evaluation& result, int width) {
  TableRows rows = {{""}};
  for (size_t label = 0; label < result.confusion.size(); ++label) {
    rows.front().push_back(std::to_string(label));
    TableRow& row = rows.emplace_back(TableRow{title_of(job, label)});
    for (const int64_t count : result.confusion[label]) row.push_back(std::to_string(count));
  }
  return "\nconfusion: a row for each class, a column for each prediction\n" +
         lay_out(rows, {.narrowest = 4, .width = width});
}

std::string mistakes_text(const JobPlan& job, const Evaluation& result, int width) {
  const int64_t wrong = result.examples - result.correct();
  std::string text = fmt::format("\nmistakes: {}", counted(wrong, "example"));
  const auto shown = std::ssize(result.mistakes);
  if (shown < wrong) text += fmt::format(", the worst {} of them", with_separators(shown));
  if (shown == 0) return text + "\n";
  TableRows rows = {{"example", "class", "taken for", "probability", "of its class"}};
  for (const WrongExample& one : result.mistakes)
    rows.push_back({printable(title_of(one.name), 1000), title_of(job, static_cast<size_t>(one.label)),
                    title_of(job, static_cast<size_t>(one.prediction)),
                    fmt::format("{:.4f}", one.probability), fmt::format("{:.2g}", one.of_label)});
  return text + table_of(rows, width);
}

std::string groups_text(const std::string& by, const Evaluation& result, int width) {
  TableRows rows = {{by, "examples"}};
  const MetricValues& all = result.groups.front().metrics;
  const std::string& main = main_metric_of(all);
  for (const auto& [name, value] : all) {
    if (!metric_info(name).is_of_evaluations()) rows.front().push_back(name);
  }
  rows.front().push_back("95 % interval of " + main);
  for (const GroupMetrics& group : result.groups) {
    TableRow row = {printable(group.name, 60), with_separators(group.examples)};
    for (const auto& [name, value] : group.metrics) {
      if (!metric_info(name).is_of_evaluations()) row.push_back(show_metric(value));
    }
    row.push_back(show_interval(group.intervals, main));
    rows.push_back(row);
  }
  return table_of(rows, width);
}

Event groups_document(const Evaluation& result) {
  Event groups = Event::array();
  for (const GroupMetrics& group : result.groups) {
    Event one = {{"group", group.name}, {"examples", group.examples}};
    for (const auto& [name, value] : group.metrics) one[name] = value;
    if (!group.intervals.empty()) one["intervals"] = json_of(group.intervals);
    groups.push_back(one);
  }
  return groups;
}

Event mistakes_document(const JobPlan& job, const Evaluation& result) {
  Event mistakes = Event::array();
  const std::vector<std::string>& names = job.data.class_names;
  for (const WrongExample& wrong : result.mistakes) {
    Event one = Event::object();
    if (wrong.name.file.empty()) one["index"] = wrong.name.index;
    if (!wrong.name.file.empty()) one["file"] = wrong.name.file;
    if (wrong.name.row > 0) one["row"] = wrong.name.row;
    one["class"] = wrong.label;
    if (!names.empty()) one["name"] = names[static_cast<size_t>(wrong.label)];
    one["predicted"] = wrong.prediction;
    if (!names.empty()) one["predicted_name"] = names[static_cast<size_t>(wrong.prediction)];
    one["probability"] = wrong.probability;
    one["probability_of_class"] = wrong.of_label;
    mistakes.push_back(one);
  }
  return mistakes;
}

void add_shares(Event& one, const ClassCounts& counts) {
  one["precision"] = counts.precision();
  one["recall"] = counts.recall();
  one["f1"] = counts.f1();
}

Event output_document(const JobPlan& job, size_t output) {
  Event one = {{"output", output}};
  if (!job.data.target_names.empty()) one["name"] = job.data.target_names[output];
  return one;
}

Event numbers_document(const JobPlan& job, const Evaluation& result) {
  Event outputs = Event::array();
  for (size_t output = 0; output < result.outputs.size(); ++output) {
    Event one = output_document(job, output);
    for (const auto& [name, value] : result.outputs[output]) one[name] = value;
    outputs.push_back(one);
  }
  return outputs;
}

Event outputs_document(const JobPlan& job, const Evaluation& result) {
  Event outputs = Event::array();
  const size_t count = result.areas.size();
  for (size_t output = 0; output < count; ++output) {
    const ClassCounts& counts = result.classes[result.classes.size() - count + output];
    Event one = output_document(job, output);
    one["yes"] = counts.actual;
    one["predicted"] = counts.predicted;
    one["found"] = counts.correct;
    add_shares(one, counts);
    if (const auto& area = result.areas[output]) {
      one["auc"] = area->value;
      one["auc_error"] = area->error;
    }
    outputs.push_back(one);
  }
  return outputs;
}

}  // namespace

std::string evaluation_text(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result,
                            int width) {
  std::string text = fmt::format("{:<12}{}", "checkpoint", printable(evaluation.checkpoint.string(), 1000));
  text += evaluation.best_by.empty() ? "\n" : fmt::format(", the best by {}\n", evaluation.best_by);
  text +=
      fmt::format("{:<12}{}, {} {} examples\n", "dataset", job.data.name, with_separators(result.examples),
                  evaluation.split == "train" ? "training" : evaluation.split);
  for (const auto& [name, value] : result.metrics) {
    std::string line = metric_line(job, result, name, value);
    const std::string interval = show_interval(result.intervals, name);
    if (!line.empty() && !interval.empty()) line.insert(line.size() - 1, fmt::format(" ({})", interval));
    text += line;
  }
  if (!result.intervals.empty())
    text += fmt::format("{:<12}in parentheses: 95 % intervals (bootstrap of the {} examples)\n", "",
                        with_separators(result.examples));
  if (!result.groups.empty()) text += groups_text(evaluation.by, result, width);
  if (job.data.classes > 0) text += classes_text(job, result, width);
  if (job.data.classes == 0 && !result.areas.empty()) text += outputs_text(job, result, width);
  if (result.outputs.size() > 1) text += numbers_text(job, result, width);  // one has the metrics above
  if (!result.confusion.empty() && result.confusion.size() <= kMostShown)
    text += confusion_text(job, result, width);
  if (evaluation.mistakes > 0) text += mistakes_text(job, result, width);
  return text;
}

Event evaluation_document(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result) {
  Event json = {{"checkpoint", evaluation.checkpoint.string()},
                {"dataset", job.data.name},
                {"split", evaluation.split},
                {"examples", result.examples}};
  if (!evaluation.best_by.empty()) json["best_by"] = evaluation.best_by;
  for (const auto& [name, value] : result.metrics) json[name] = value;
  if (result.mean_area) json["auc_error"] = result.mean_area->error;
  if (!result.intervals.empty()) json["intervals"] = json_of(result.intervals);
  if (!result.groups.empty()) json["groups"] = groups_document(result);
  if (job.data.classes == 0) {
    if (!result.areas.empty()) json["outputs"] = outputs_document(job, result);
    if (!result.outputs.empty()) json["outputs"] = numbers_document(job, result);
    return json;
  }
  json["correct"] = result.correct();
  json["classes"] = Event::array();
  for (size_t label = 0; label < result.classes.size(); ++label) {
    const ClassCounts& counts = result.classes[label];
    Event one = {{"class", label}};
    if (!job.data.class_names.empty()) one["name"] = job.data.class_names[label];
    one["examples"] = counts.actual;
    one["predicted"] = counts.predicted;
    one["correct"] = counts.correct;
    if (counts.actual > 0) one["accuracy"] = counts.recall();
    add_shares(one, counts);
    json["classes"].push_back(one);
  }
  if (!result.confusion.empty()) json["confusion"] = result.confusion;
  if (evaluation.mistakes > 0) json["mistakes"] = mistakes_document(job, result);
  return json;
}

}  // namespace dtrain
