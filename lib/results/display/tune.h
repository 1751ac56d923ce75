// Shows the results of a tune. Rows and lines are its trials, or of combined() the combinations, with the
// mean of their trials. tune_table() and tune_chart() show combinations if there are any.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "display/chart.h"
#include "runs/tune_results.h"

namespace dtrain {

// The trials, the best first, a row of texts each, below the names of the columns.
TableRows tune_rows(const Tune& tune);

// Describes a tune in a few sentences, a line each: "grid of 6 trials, 2 at once; ...".
std::vector<std::string> tune_sentences(const Tune& tune);

// A table for people, with the command that trains the best trial from the start. Lines that are not rows
// begin with "#". Tables wider than `width` (0: no limit) are divided.
std::string tune_table(const Tune& given, int width = 0);

// The contents of tune.csv: a line for each trial, with the mean and deviation of its combination, if any.
std::string tune_csv(const Tune& tune);

// The metric of each trial's evaluations by epoch. The best six trials have colours, in the order of
// tune_legend(); the others are drawn faintly behind them.
LineChart tune_lines(const Tune& tune);

// The names of the trials with colours: "trial-003: learning_rate 0.001, global 64".
std::vector<std::pair<std::string, size_t>> tune_legend(const Tune& tune);

// Parallel coordinates, an <svg> element: an axis for each field and one for the metric, which has the best
// at the top, with their values evenly in their order, and a line for each trial that completed the last rung
// which two or more have completed, in the colours of tune_legend(). "" for fewer than two trials.
std::string tune_coordinates(const Tune& tune);

// A row for each field with its importance_of_fields(), below the names of the columns.
TableRows importance_rows(const Tune& tune);

// A self-contained SVG document of tune_lines(), in the reader's light or dark theme.
std::string tune_chart(const Tune& tune);

}  // namespace dtrain
