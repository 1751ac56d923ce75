#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "core/files.h"
#include "core/text.h"
#include "display/report.h"

namespace dtrain {

ExitCode report_command(const ReportOptions& options) {
  std::vector<RunHistory> runs;
  for (const std::string& folder : options.runs) runs.push_back(read_run_history(folder));
  const std::filesystem::path file = options.output.value_or("report.html");
  if (!options.overwrite && std::filesystem::exists(std::filesystem::symlink_status(file))) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("{} is there already: --overwrite replaces it, --output names another", file.string()));
  }
  write_file_atomically(file, report_page(runs));
  std::cout << printable(file.string(), 1000) << '\n';
  return ExitCode::kDone;
}

}  // namespace dtrain
