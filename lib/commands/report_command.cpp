#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "commands/commands.h"
#include "commands/report_problems.h"
#include "core/files.h"
#include "core/text.h"
#include "inference/model_reports.h"
#include "report/page.h"
#include "report/report.h"
#include "report/sweep_report.h"
#include "runs/require_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostPageBytes = int64_t{1} << 30;

std::string page_of(const ReportOptions& options) {
  const fs::path sweep = fs::path(options.runs.front()) / "sweep.json";
  if (options.runs.size() == 1 && fs::exists(sweep)) return sweep_page(read_sweep(sweep));
  std::vector<RunHistory> runs;
  std::vector<ModelReport> models;
  for (const std::string& folder : options.runs) {
    require_folder(folder, ExitCode::kUsage);
    runs.push_back(read_run_history(folder));
    models.push_back(model_report_of(folder, !options.without_mistakes && options.runs.size() == 1));
    if (!models.back().problem.empty())
      report_warnings({"the page has no confusion matrix and no mistakes: " + models.back().problem},
                      std::cerr);
  }
  return report_page(runs, models);
}

bool is_report(const fs::path& file) {
  return fs::is_regular_file(fs::symlink_status(file)) &&
         is_report_page(read_file(file, kMostPageBytes, ExitCode::kUsage));
}

}  // namespace

ExitCode report_command(const ReportOptions& options) {
  const fs::path file = options.out.value_or("report.html");
  if (!options.overwrite && fs::exists(fs::symlink_status(file)) && !is_report(file)) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("{} is there already, and not made by dtrain report: --overwrite replaces it, --out "
                    "names another",
                    file.string()));
  }
  write_file_atomically(file, page_of(options));
  std::cout << printable(file.string(), 1000) << '\n';
  return ExitCode::kDone;
}

}  // namespace dtrain
