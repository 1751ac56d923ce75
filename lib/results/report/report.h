// Shows runs as a page for a browser.
#pragma once

#include <string>
#include <vector>

#include "report/model_report.h"
#include "runs/run_history.h"

namespace dtrain {

constexpr size_t kMostCharted = 12;  // runs; more lines than this cannot be told apart

// A self-contained HTML document (well-formed XML too) that has no scripts and loads nothing. It shows curves
// of loss, accuracy, learning rate and speed, the mistakes of the model, where the time of a step went, the
// baseline against the distributed run, the machine, the layers, the environment and the spec, in the
// reader's light or dark theme. For several runs, it shows the distributed ones side by side, and the
// differences between their specs. All text from the runs is escaped. `runs` must have one or more entries;
// only the best kMostCharted have curves. `models` has an entry for each run in the same order, or is empty.
std::string report_page(const std::vector<RunHistory>& runs, const std::vector<ModelReport>& models = {});

}  // namespace dtrain
