
#include <filesystem>
#include <iostream>

#include "commands/commands.h"
#include "commands/page_file.h"
#include "commands/report_problems.h"
#include "core/files.h"
#include "core/text.h"
#include "inference/model_reports.h"
#include "report/report.h"
#include "runs/require_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::string page_of(const ReportOptions& options) {
  const fs::path sweep = fs::path(options.runs.front()) / "sweep.json";
  if (options.runs.size() == 1 && fs::exists(sweep)) return sweep_page(read_sweep(sweep));
  const fs::path tune = fs::path(options.runs.front()) / "tune.json";
  if (options.runs.size() == 1 && fs::exists(tune)) return tune_page(read_tune(tune));
  std::vector<RunHistory> runs;
  std::vector<ModelReport> models;
  for (const std::string& folder : options.runs) {
    require_run(folder, ExitCode::kUsage, "dtrain report RUN");
    runs.push_back(read_run_history(folder));
    models.push_back(model_report_of(folder, !options.without_mistakes && options.runs.size() == 1));
    if (!models.back().problem.empty())
      report_warnings({"the page has no confusion matrix and no mistakes: " + models.back().problem});
  }
  return report_page(runs, models);
}

}  // namespace

ExitCode report_command(const ReportOptions& options) {
  const fs::path file = options.out.value_or("report.html");
  require_own_page(file, options.overwrite, "dtrain report");
  write_file_atomically(file, page_of(options), "--out");
  std::cout << printable(file.string(), 1000) << '\n';
  return ExitCode::kDone;
}

}  // namespace dtrain
