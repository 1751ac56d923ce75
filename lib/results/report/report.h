// Pages for a browser: self-contained HTML documents (well-formed XML too) that have no scripts and load
// nothing, in the reader's light or dark theme. All text from the runs is escaped.
#pragma once

#include <string>
#include <vector>

#include "judge/chance.h"
#include "report/model_report.h"
#include "runs/finished_run.h"
#include "runs/rate_test.h"
#include "runs/sweep_results.h"
#include "runs/tune_results.h"

namespace dtrain {

constexpr size_t kMostCharted = 12;  // runs; more lines than this cannot be told apart

// Runs: curves of loss, accuracy, learning rate and speed, the mistakes of the model, where the time of a
// step went, the baseline against the distributed run, the machine, the layers, the environment and the spec.
// For several runs, it shows the distributed ones side by side, and the differences between their specs.
// `runs` must have one or more entries; only the best kMostCharted have curves. `models` has an entry for
// each run in the same order, or is empty. `differences`: differences_of() these runs.
std::string report_page(const std::vector<RunHistory>& runs, const std::vector<ModelReport>& models = {},
                        const std::vector<RunDifference>& differences = {});

// A sweep: its measurements, examples/s and efficiency over replicas, where steps' time goes, the points.
std::string sweep_page(const Sweep& sweep);

// A tune: the best trial, the course of all, and the table of them.
std::string tune_page(const Tune& given);

// A learning-rate range test.
std::string rate_page(const RateTest& test);

}  // namespace dtrain
