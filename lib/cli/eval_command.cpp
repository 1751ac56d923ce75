#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/report_problems.h"
#include "core/text.h"
#include "train/evaluation.h"
#include "train/resume.h"

namespace dtrain {
namespace {

constexpr size_t kMostShown = 40;  // classes, of which a terminal takes a matrix

void print_classes(const Evaluation& result) {
  std::cout << fmt::format("\n{:>8}  {:>10}  {:>10}  {:>10}\n", "class", "examples", "correct", "accuracy");
  for (size_t label = 0; label < result.confusion.size(); ++label) {
    const int64_t examples = result.examples_of(label);
    const int64_t correct = result.confusion[label][label];
    std::cout << fmt::format(
        "{:>8}  {:>10}  {:>10}  {:>10}\n", label, with_separators(examples), with_separators(correct),
        examples == 0 ? "-"
                      : fmt::format("{:.4f}", static_cast<double>(correct) / static_cast<double>(examples)));
  }
}

void print_confusion(const Evaluation& result) {
  size_t width = 4;
  for (const auto& row : result.confusion) {
    for (const int64_t count : row) width = std::max(width, std::to_string(count).size());
  }
  std::cout << "\nconfusion: a row for each class, a column for each prediction\n"
            << fmt::format("{:>8}", "");
  for (size_t label = 0; label < result.confusion.size(); ++label)
    std::cout << fmt::format("  {:>{}}", label, width);
  std::cout << '\n';
  for (size_t label = 0; label < result.confusion.size(); ++label) {
    std::cout << fmt::format("{:>8}", label);
    for (const int64_t count : result.confusion[label]) std::cout << fmt::format("  {:>{}}", count, width);
    std::cout << '\n';
  }
}

void print_text(const std::string& checkpoint, const JobPlan& job, const Evaluation& result) {
  std::cout << fmt::format("{:<12}{}\n", "checkpoint", printable(checkpoint, 1000))
            << fmt::format("{:<12}{}, {} test examples\n", "dataset", job.data.name,
                           with_separators(result.examples))
            << fmt::format("{:<12}{:.6g}\n", "loss", result.loss)
            << fmt::format("{:<12}{:.4f}, {} of {} are right\n", "accuracy", result.accuracy(),
                           with_separators(result.correct()), with_separators(result.examples));
  print_classes(result);
  if (result.confusion.size() <= kMostShown) print_confusion(result);
}

void print_json(const std::string& checkpoint, const JobPlan& job, const Evaluation& result) {
  const Event json = {{"checkpoint", checkpoint},      {"dataset", job.data.name},
                      {"examples", result.examples},   {"loss", result.loss},
                      {"accuracy", result.accuracy()}, {"correct", result.correct()},
                      {"confusion", result.confusion}};
  std::cout << event_text(json, 2) << '\n';
}

}  // namespace

ExitCode eval_command(const EvalOptions& options) {
  const ResumePoint point = find_resume_point(options.checkpoint, {});
  for (const std::string& warning : point.warnings)
    std::cerr << "WARNING: " << printable(warning, 2000) << '\n';
  LoadedSpec loaded;
  const JobPlan job = job_of_checkpoint(point.state, options.overrides, find_dataset, loaded);
  if (!loaded.ok()) {
    report_problems(loaded.problems, std::cerr);
    return ExitCode::kUsage;
  }
  const Evaluation result = evaluate_model(job, load_checkpoint(point.checkpoint).model);
  (options.json ? print_json : print_text)(point.checkpoint.string(), job, result);
  return ExitCode::kDone;
}

}  // namespace dtrain
