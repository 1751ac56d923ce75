// Watching runs while they train, and how they are shown.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "watch/followed_run.h"

namespace dtrain {

enum class WatchOutput {
  kLive,  // on the terminal, drawn again until all runs have ended, or the user leaves with q or Ctrl-C
  kOnce,  // one frame
  kJson,  // one document
};

// Returns kDone, or kStopped after a signal that is not SIGINT. Leaves the terminal as it was, with the last
// frame. Throws Error(kUsage) if a folder holds no run.
ExitCode watch_runs(const std::vector<std::filesystem::path>& folders, WatchOutput output);

struct FrameOptions {
  int width = 80;  // columns
  int height = 0;  // lines; 0: as many as it takes
  bool colour = false;
};

// Lines of at most `width` columns, at most `height` of them: a few runs each with its curves, beside each
// other where they fit; more runs as a table, with a curve of each in one chart.
std::vector<std::string> watch_frame(const std::vector<WatchedRun>& runs, const FrameOptions& options);

// The same for programs.
Event watch_document(const std::vector<WatchedRun>& runs);

}  // namespace dtrain
