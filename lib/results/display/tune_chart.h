// Draws the results of a tune.
#pragma once

#include <string>

#include "display/line_chart.h"
#include "runs/tune_results.h"

namespace dtrain {

// The metric of each trial's evaluations by epoch. The best six trials have colours, in the order of
// tune_legend(); the others are drawn faintly behind them.
LineChart tune_lines(const Tune& tune);

// The names of the trials with colours: "trial-003: learning_rate 0.001, global 64".
std::vector<std::pair<std::string, size_t>> tune_legend(const Tune& tune);

// A self-contained SVG document of tune_lines(), in the reader's light or dark theme.
std::string tune_chart(const Tune& tune);

}  // namespace dtrain
