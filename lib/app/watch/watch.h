// Watching runs while they train.
#pragma once

#include <filesystem>
#include <vector>

#include "core/error.h"

namespace dtrain {

enum class WatchOutput {
  kLive,  // on the terminal, drawn again until all runs have ended, or the user leaves with q or Ctrl-C
  kOnce,  // one frame
  kJson,  // one document
};

// Returns kDone, or kStopped after a signal that is not SIGINT. Leaves the terminal as it was, with the last
// frame. Throws Error(kUsage) if a folder holds no run.
ExitCode watch_runs(const std::vector<std::filesystem::path>& folders, WatchOutput output);

}  // namespace dtrain
