#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "commands/commands.h"
#include "core/terminal.h"
#include "core/text.h"
#include "runs/finished_run.h"
#include "runs/require_folder.h"

namespace dtrain {

ExitCode compare_command(const CompareOptions& options) {
  std::vector<FinishedRun> runs;
  for (const std::string& folder : options.runs) {
    require_run(folder, ExitCode::kUsage, "dtrain compare RUN OTHER");
    runs.push_back(read_finished_run(folder));
  }
  const RunsComparison comparison = compare_finished_runs(std::move(runs));
  Event regressions = Event::array();
  std::string text;
  for (size_t i = 1; options.max_regression && i < comparison.runs.size(); ++i) {
    for (const std::string& worse : comparison.regressions(i, *options.max_regression / 100)) {
      regressions.push_back({{"run", comparison.runs[i].path}, {"worse", worse}});
      text += fmt::format("WORSE: {}: {}\n", printable(comparison.runs[i].path, 1000), worse);
    }
  }
  if (options.json) {
    Event document = runs_document(comparison);
    document["regressions"] = regressions;
    std::cout << event_text(document, 2) << '\n';
  } else {
    std::cout << runs_table(comparison, width_limit(STDOUT_FILENO)) << (text.empty() ? "" : "\n") << text;
  }
  return regressions.empty() ? ExitCode::kDone : ExitCode::kRegression;
}

}  // namespace dtrain
