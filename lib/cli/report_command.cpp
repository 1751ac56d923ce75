#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "core/files.h"
#include "core/text.h"
#include "display/report.h"
#include "runs/require_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostPageBytes = int64_t{1} << 30;

// A sweep has no run of its own, but many that can be shown.
void require_no_sweep(const fs::path& folder) {
  if (!fs::exists(folder / "sweep.json")) return;
  std::vector<std::string> runs;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "metrics.jsonl")) runs.push_back(entry.path().string());
  }
  std::sort(runs.begin(), runs.end());
  if (runs.size() > 2) runs.resize(2);
  throw Error(ExitCode::kUsage,
              fmt::format("{0} is the folder of a sweep: its results are in {0}/sweep.svg, sweep.csv and "
                          "sweep.json; for a page, name runs in it: dtrain report {1}",
                          folder.string(), runs.empty() ? "RUN" : join(runs, " ")));
}

bool is_report(const fs::path& file) {
  return fs::is_regular_file(fs::symlink_status(file)) &&
         is_report_page(read_file(file, kMostPageBytes, ExitCode::kUsage));
}

}  // namespace

ExitCode report_command(const ReportOptions& options) {
  std::vector<RunHistory> runs;
  for (const std::string& folder : options.runs) {
    require_folder(folder, ExitCode::kUsage);
    require_no_sweep(folder);
    runs.push_back(read_run_history(folder));
  }
  const fs::path file = options.out.value_or("report.html");
  if (!options.overwrite && fs::exists(fs::symlink_status(file)) && !is_report(file)) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("{} is there already, and not made by dtrain report: --overwrite replaces it, --out "
                    "names another",
                    file.string()));
  }
  write_file_atomically(file, report_page(runs));
  std::cout << printable(file.string(), 1000) << '\n';
  return ExitCode::kDone;
}

}  // namespace dtrain
