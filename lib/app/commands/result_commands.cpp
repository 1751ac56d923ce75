// compare, watch, verify, inspect and report: commands about what runs have left.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "commands/commands.h"
#include "commands/shared.h"
#include "core/files.h"
#include "core/terminal.h"
#include "core/text.h"
#include "experiments/verify.h"
#include "inference/model_description.h"
#include "inference/output.h"
#include "judge/chance.h"
#include "report/report.h"
#include "runs/finished_run.h"
#include "watch/watch.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The checkpoint at `path`, or all checkpoints in it if it is a run's folder or its folder of checkpoints.
std::vector<fs::path> checkpoints_at(const fs::path& path) {
  require_run(path, ExitCode::kCheckpoint, "dtrain inspect RUN");
  for (const fs::path& folder : {path, path / "checkpoints"}) {
    std::vector<fs::path> found;
    for (const SavedCheckpoint& checkpoint : list_checkpoints(folder)) found.push_back(checkpoint.path);
    if (!found.empty()) return found;
  }
  return {path};
}

// The page of runs, or of the sweep or tune in the only folder.
std::string page_of(const ReportOptions& options) {
  const fs::path sweep = fs::path(options.runs.front()) / "sweep.json";
  if (options.runs.size() == 1 && fs::exists(sweep)) return sweep_page(read_sweep(sweep));
  const fs::path tune = fs::path(options.runs.front()) / "tune.json";
  if (options.runs.size() == 1 && fs::exists(tune)) return tune_page(read_tune(tune));
  std::vector<RunHistory> runs;
  std::vector<ModelReport> models;
  std::vector<FinishedRun> finished;
  for (const std::string& folder : options.runs) {
    require_run(folder, ExitCode::kUsage, "dtrain report RUN");
    runs.push_back(read_run_history(folder));
    finished.push_back(runs.back().finished);
    models.push_back(model_report_of(folder, options.runs.size() == 1, !options.without_mistakes));
    report_warnings(models.back().problems);
  }
  return report_page(runs, models, differences_of(finished));
}

}  // namespace

ExitCode compare_command(const CompareOptions& options) {
  std::vector<FinishedRun> runs;
  for (const std::string& folder : options.runs) {
    require_run(folder, ExitCode::kUsage, "dtrain compare RUN OTHER");
    runs.push_back(read_finished_run(folder));
  }
  const RunsComparison comparison = compare_finished_runs(std::move(runs));
  const std::vector<RunDifference> differences = differences_of(comparison.runs);
  Event regressions = Event::array();
  std::string text;
  for (size_t i = 1; options.max_regression && i < comparison.runs.size(); ++i) {
    for (const std::string& worse : comparison.regressions(i, *options.max_regression / 100)) {
      regressions.push_back({{"run", comparison.runs[i].path}, {"worse", worse}});
      text += fmt::format("{}WORSE: {}: {}\n", text.empty() ? "\n" : "",
                          printable(comparison.runs[i].path, 1000), worse);
    }
  }
  if (options.json) {
    Event document = runs_document(comparison);
    document["regressions"] = regressions;
    document["chance"] = chance_document(differences);
    std::cout << event_text(document, 2) << '\n';
  } else {
    const int width = width_limit(STDOUT_FILENO);
    std::cout << runs_table(comparison, width) << chance_text(differences, width) << text;
  }
  return regressions.empty() ? ExitCode::kDone : ExitCode::kRegression;
}

ExitCode watch_command(const WatchOptions& options) {
  std::vector<fs::path> folders;
  for (const std::string& folder : options.runs) {
    require_run(folder, ExitCode::kUsage, "dtrain watch RUN");
    folders.emplace_back(folder);
  }
  return watch_runs(folders, options.json                                  ? WatchOutput::kJson
                             : options.once || !is_terminal(STDOUT_FILENO) ? WatchOutput::kOnce
                                                                           : WatchOutput::kLive);
}

ExitCode verify_command(const VerifyOptions& options) {
  for (const std::string& run : options.runs) require_run(run, ExitCode::kUsage, "dtrain verify RUN");
  const auto say = [&](const std::string& line) {
    if (!options.json) report_failure("dtrain: " + line, /*expected=*/true);
  };
  const ReceiptsComparison comparison =
      options.runs.size() == 1 ? verify_run(options.runs.front(), options.steps, options.replicas, say)
                               : compare_receipts(read_receipts(options.runs[0], options.steps),
                                                  read_receipts(options.runs[1], options.steps));
  std::cout << (options.json ? event_text(comparison.document(), 2) + "\n" : comparison.text());
  if (comparison.differs()) return ExitCode::kDiffers;
  return comparison.lost > 0 ? ExitCode::kData : ExitCode::kDone;
}

ExitCode inspect_command(const std::string& checkpoint, bool json) {
  ExitCode code = ExitCode::kDone;
  const std::vector<fs::path> paths = checkpoints_at(checkpoint);
  const auto best = best_of_run(fs::weakly_canonical(paths.front()).parent_path());
  if (best && !best->warning.empty() && paths.front() != checkpoint) report_warnings({best->warning});
  Event all = Event::array();
  std::error_code none;
  for (const fs::path& path : paths) {
    const CheckpointReport report = inspect_checkpoint(path);
    const bool is_gone = fs::status(path, none).type() == fs::file_type::not_found;
    if (is_gone && paths.size() > 1) continue;  // a run that trains has removed it meanwhile
    const std::string best_by = best && fs::equivalent(best->saved.path, path, none) ? best->metric : "";
    if (!report.problems.empty()) code = ExitCode::kCheckpoint;
    if (json) {
      all.push_back(checkpoint_document(path, report, best_by));
    } else if (paths.size() == 1) {
      std::cout << checkpoint_text(path, report);
    } else {
      std::cout << checkpoint_line(path, report, best_by);
    }
  }
  if (json) std::cout << event_text(Event{{"checkpoints", all}}, 2) << '\n';
  return code;
}

ExitCode report_command(const ReportOptions& options) {
  const fs::path file = options.out.value_or("report.html");
  require_own_page(file, options.overwrite, "dtrain report");
  write_output(file, page_of(options), "--out");
  std::cout << printable(file.string(), 1000) << '\n';
  return ExitCode::kDone;
}

}  // namespace dtrain
