// Runs as `dtrain watch` shows them.
#pragma once

#include <string>
#include <vector>

#include "watch/followed_run.h"

namespace dtrain {

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
