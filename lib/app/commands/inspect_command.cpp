#include <filesystem>
#include <iostream>

#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "commands/commands.h"
#include "inference/checkpoint_text.h"
#include "inference/find_checkpoint.h"
#include "runs/require_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The checkpoint at `path`, or all checkpoints in it if it is the folder of a run or the run's folder of
// checkpoints.
std::vector<fs::path> checkpoints_at(const fs::path& path) {
  require_run(path, ExitCode::kCheckpoint, "dtrain inspect RUN");
  for (const fs::path& folder : {path, path / "checkpoints"}) {
    std::vector<fs::path> found;
    for (const SavedCheckpoint& checkpoint : list_checkpoints(folder)) found.push_back(checkpoint.path);
    if (!found.empty()) return found;
  }
  return {path};
}

}  // namespace

ExitCode inspect_command(const std::string& checkpoint, bool json) {
  ExitCode code = ExitCode::kDone;
  const std::vector<fs::path> paths = checkpoints_at(checkpoint);
  const auto best = best_of_run(fs::canonical(paths.front()).parent_path());
  Event all = Event::array();
  for (const fs::path& path : paths) {
    const std::string best_by = best && fs::equivalent(best->saved.path, path) ? best->metric : "";
    const CheckpointReport report = inspect_checkpoint(path);
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

}  // namespace dtrain
