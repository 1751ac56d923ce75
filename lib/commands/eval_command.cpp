#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "commands/preparation.h"
#include "commands/report_problems.h"
#include "core/own_program.h"
#include "core/text.h"
#include "inference/evaluate_replicas.h"
#include "inference/find_checkpoint.h"

namespace dtrain {
namespace {

constexpr size_t kMostShown = 40;  // the most classes whose matrix is printed on a terminal

size_t widest_title(const JobPlan& job, size_t classes) {
  size_t width = 5;
  for (size_t label = 0; label < classes; ++label)
    width = std::max(width, class_title(job.data, static_cast<int64_t>(label)).size());
  return width;
}

void print_classes(const JobPlan& job, const Evaluation& result) {
  const size_t width = widest_title(job, result.examples_of.size());
  std::cout << fmt::format("\n  {:<{}}  {:>10}  {:>10}  {:>10}\n", "class", width, "examples", "correct",
                           "accuracy");
  for (size_t label = 0; label < result.examples_of.size(); ++label) {
    const auto accuracy = result.accuracy_of(label);
    std::cout << fmt::format(
        "  {:<{}}  {:>10}  {:>10}  {:>10}\n", class_title(job.data, static_cast<int64_t>(label)), width,
        with_separators(result.examples_of[label]), with_separators(result.correct_of[label]),
        accuracy ? fmt::format("{:.4f}", *accuracy) : "-");
  }
}

void print_confusion(const JobPlan& job, const Evaluation& result) {
  const size_t title = widest_title(job, result.confusion.size());
  size_t width = 4;
  for (const auto& row : result.confusion) {
    for (const int64_t count : row) width = std::max(width, std::to_string(count).size());
  }
  std::cout << "\nconfusion: a row for each class, a column for each prediction\n"
            << fmt::format("  {:<{}}", "", title);
  for (size_t label = 0; label < result.confusion.size(); ++label)
    std::cout << fmt::format("  {:>{}}", label, width);
  std::cout << '\n';
  for (size_t label = 0; label < result.confusion.size(); ++label) {
    std::cout << fmt::format("  {:<{}}", class_title(job.data, static_cast<int64_t>(label)), title);
    for (const int64_t count : result.confusion[label]) std::cout << fmt::format("  {:>{}}", count, width);
    std::cout << '\n';
  }
}

void print_evaluation_text(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result) {
  std::cout << fmt::format("{:<12}{}\n", "checkpoint", printable(evaluation.checkpoint.string(), 1000))
            << fmt::format("{:<12}{}, {} {} examples\n", "dataset", job.data.name,
                           with_separators(result.examples()),
                           evaluation.split == "train" ? "training" : evaluation.split)
            << fmt::format("{:<12}{:.6g}\n", "loss", result.loss)
            << fmt::format("{:<12}{:.4f}, {} of {} are right\n", "accuracy", result.accuracy(),
                           with_separators(result.correct()), with_separators(result.examples()));
  print_classes(job, result);
  if (result.confusion.empty() || result.confusion.size() > kMostShown) return;
  print_confusion(job, result);
}

void print_evaluation_json(const EvaluationJob& evaluation, const JobPlan& job, const Evaluation& result) {
  Event json = {{"checkpoint", evaluation.checkpoint.string()},
                {"dataset", job.data.name},
                {"split", evaluation.split},
                {"examples", result.examples()},
                {"loss", result.loss},
                {"accuracy", result.accuracy()},
                {"correct", result.correct()},
                {"classes", Event::array()}};
  for (size_t label = 0; label < result.examples_of.size(); ++label) {
    Event one = {{"class", label}};
    if (!job.data.class_names.empty()) one["name"] = job.data.class_names[label];
    one["examples"] = result.examples_of[label];
    one["correct"] = result.correct_of[label];
    if (const auto accuracy = result.accuracy_of(label)) one["accuracy"] = *accuracy;
    json["classes"].push_back(one);
  }
  if (!result.confusion.empty()) json["confusion"] = result.confusion;
  std::cout << event_text(json, 2) << '\n';
}

Overrides overrides_of(const EvalOptions& options) {
  Overrides overrides = options.overrides;
  if (options.data) {
    const auto folder = std::filesystem::absolute(*options.data).string();
    overrides.set.push_back("data.path=" + nlohmann::json(folder).dump());  // JSON text is valid YAML
  }
  return overrides;
}

}  // namespace

ExitCode eval_command(const EvalOptions& options) {
  const ResumePoint point = find_checkpoint(options.checkpoint);
  report_warnings(point.warnings, std::cerr);
  const EvaluationJob evaluation{point.checkpoint, overrides_of(options), options.replicas, options.split};
  LoadedSpec loaded;
  const JobPlan job = job_of_checkpoint(point.checkpoint, evaluation.overrides, find_dataset, loaded);
  report_notes(loaded.notes, std::cerr);
  if (!loaded.ok()) {
    report_problems(loaded.problems, std::cerr);
    return ExitCode::kUsage;
  }
  prepare_data(job, /*quiet=*/options.json);
  EvaluationSums sums;
  if (options.replicas == 1) {
    sums = evaluate_alone(evaluation, job);
  } else {
    const std::string program = own_program().string();
    const SuperviseResult ended = supervise_evaluation(evaluation, program, sums);
    if (ended.code != ExitCode::kDone) {
      report_failure(ended.message, std::cerr);
      return ended.code;
    }
  }
  (options.json ? print_evaluation_json : print_evaluation_text)(evaluation, job,
                                                                 evaluation_from(sums, job.data.classes));
  return ExitCode::kDone;
}

ExitCode eval_replica_command(const EvalOptions& options) {
  return run_evaluation_replica(
      {options.checkpoint.path, options.overrides, options.replicas, options.split});
}

}  // namespace dtrain
