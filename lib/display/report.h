// Runs as a page for a browser.
#pragma once

#include <string>
#include <vector>

#include "runs/run_history.h"

namespace dtrain {

constexpr size_t kMostReported = 12;  // runs: more lines than that nobody tells apart

// One self-contained HTML document (well-formed XML too), without scripts, that loads nothing: curves of
// loss, accuracy, learning rate and speed, where the time of a step went, the baseline against the
// distributed run, environment and spec; in the reader's light or dark theme. Of several runs the distributed
// ones side by side, and what differs in their specs. All text of the runs is escaped. `runs` has one to
// kMostReported of them.
std::string report_page(const std::vector<RunHistory>& runs);

}  // namespace dtrain
