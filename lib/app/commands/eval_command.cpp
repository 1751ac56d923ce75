#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/own_process.h"
#include "core/terminal.h"
#include "inference/output.h"
#include "plan/warnings.h"
#include "runs/finished_run.h"

namespace dtrain {

ExitCode eval_command(const EvalOptions& options) {
  EvaluationJob evaluation = options.evaluation;
  if (options.data) {
    const auto folder = std::filesystem::absolute(*options.data).string();
    // JSON text is valid YAML.
    evaluation.overrides.set.push_back("data.path=" + nlohmann::json(folder).dump());
  }
  auto opened = open_checkpoint(options.checkpoint, evaluation.overrides, find_dataset);
  if (opened && prepare_data(opened->job.data, opened->job.spec.data, /*quiet=*/options.json))
    opened = open_checkpoint(options.checkpoint, evaluation.overrides, find_dataset);
  if (!opened) return ExitCode::kUsage;
  const auto& [point, job] = *opened;
  if (evaluation.mistakes > 0 && job.data.classes == 0)
    throw Error(ExitCode::kUsage,
                "--mistakes is for models of classes, and this one predicts numbers; leave it out");
  evaluation.checkpoint = point.checkpoint;
  if (options.checkpoint.best) evaluation.best_by = *deciding_metric(job.spec).metric;
  report_warnings(data_warnings(job));
  if (job.data.is_fallback() && job.data.name != point.state.dataset)
    report_warnings(
        {fmt::format("dataset {0} was not found; this evaluates the fallback {1}, and its numbers are not "
                     "those of {0}",
                     job.data.requested, job.data.name)});
  EvaluationSums sums;
  if (evaluation.replicas == 1) {
    sums = evaluate_alone(evaluation, job);
  } else {
    const std::string program = own_program().string();
    const SuperviseResult ended = supervise_evaluation(evaluation, program, sums);
    if (ended.code != ExitCode::kDone) {
      report_failure(ended.message);
      return ended.code;
    }
  }
  const Evaluation result = evaluation_from(sums, job);
  std::cout << (options.json ? event_text(evaluation_document(evaluation, job, result), 2) + "\n"
                             : evaluation_text(evaluation, job, result, width_limit(STDOUT_FILENO)));
  return ExitCode::kDone;
}

ExitCode eval_replica_command(const EvalOptions& options) {
  EvaluationJob evaluation = options.evaluation;
  evaluation.checkpoint = options.checkpoint.path;
  return run_evaluation_replica(evaluation);
}

}  // namespace dtrain
