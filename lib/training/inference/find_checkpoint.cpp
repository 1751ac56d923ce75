#include "inference/find_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <vector>

#include "core/error.h"
#include "job_file/load.h"
#include "metrics/show.h"
#include "runs/finished_run.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

fs::path at_end_of_epoch(const fs::path& checkpoints, int64_t epoch) {
  std::vector<int64_t> others;
  for (const SavedCheckpoint& saved : list_checkpoints(checkpoints)) {
    const std::optional<TrainingState> state = state_of(saved);
    if (!state || state->position > 0) continue;
    if (state->epoch == epoch) return saved.path;
    others.push_back(state->epoch);
  }
  throw Error(ExitCode::kCheckpoint,
              others.empty()
                  ? fmt::format("{}: there is no checkpoint of the end of an epoch", checkpoints.string())
                  : fmt::format("{}: there is no checkpoint of epoch {}; there is one of epoch {}",
                                checkpoints.string(), epoch, fmt::join(others, ", ")));
}

// An epoch of the run in which the metric was better than `value`; empty: the run tells of none.
std::string text_of_better(const fs::path& run, const BestCheckpointSpec& by, double value) {
  try {
    const FinishedRun all = read_finished_run(run);
    const EvaluationPoint* top = all.best(by);
    if (top == nullptr || !is_better(*by.metric, by.mode, top->value(*by.metric), value)) return "";
    return fmt::format("epoch {} was better by {} ({} against {}), but has no checkpoint", top->epoch,
                       *by.metric, show_metric(top->value(*by.metric)), show_metric(value));
  } catch (const std::exception&) {  // checkpoints without their run
    return "";
  }
}

// Adds to `warnings`.
fs::path chosen(const CheckpointChoice& choice, std::vector<std::string>& warnings) {
  if (!choice.best && !choice.epoch) return choice.path;
  if (is_checkpoint(choice.path)) {
    throw Error(
        ExitCode::kUsage,
        "--best and --epoch choose among the checkpoints of a run, and {} is one of them; name the run, {}",
        choice.path, run_of_checkpoint(choice.path).string());
  }
  const fs::path checkpoints = checkpoint_folder(run_of_checkpoint(choice.path));
  if (choice.epoch) return at_end_of_epoch(checkpoints, *choice.epoch);
  const std::optional<BestCheckpoint> best = best_of_run(checkpoints);
  if (best && !best->warning.empty()) warnings.push_back(best->warning);
  if (best) return best->saved.path;
  throw Error(ExitCode::kCheckpoint,
              "{}: there is no checkpoint with an evaluation, so none is the best; without --best the newest "
              "is taken",
              checkpoints.string());
}

}  // namespace

ResumePoint find_checkpoint(const CheckpointChoice& choice) {
  CheckpointChoice plain = choice;
  const fs::path path = choice.path;
  std::error_code none;
  if (fs::is_regular_file(path, none) && is_checkpoint(path.parent_path()))
    plain.path = path.parent_path().string();  // a file of a checkpoint means the checkpoint
  else
    require_run(path, ExitCode::kCheckpoint, choice.usage);
  std::vector<std::string> warnings;
  ResumePoint point = find_resume_point(chosen(plain, warnings).string(), {});
  point.warnings.insert(point.warnings.end(), warnings.begin(), warnings.end());
  return point;
}

std::optional<BestCheckpoint> best_of_run(const fs::path& checkpoints) {
  BestCheckpointSpec best;
  best.metric = "loss";
  const std::vector<SavedCheckpoint> all = list_checkpoints(checkpoints);
  for (auto saved = all.rbegin(); saved != all.rend(); ++saved) {  // the newest has the spec of today
    const std::optional<TrainingState> state = state_of(*saved);
    if (!state) continue;
    const JobSpec spec = parse_spec(state->spec, "the checkpoint's spec").spec;
    best = deciding_metric(spec);
    break;
  }
  const std::optional<SavedCheckpoint> saved = best_checkpoint(checkpoints, best);
  const std::optional<TrainingState> state = saved ? state_of(*saved) : std::nullopt;
  if (!state) return std::nullopt;
  return BestCheckpoint{
      *saved, *best.metric,
      text_of_better(run_of_checkpoint(checkpoints), best, state->metrics.at(*best.metric))};
}

}  // namespace dtrain
