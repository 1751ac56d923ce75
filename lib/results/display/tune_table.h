// Shows the results of a tune as text.
#pragma once

#include <string>
#include <vector>

#include "runs/tune_results.h"

namespace dtrain {

// The trials, the best first, a row of texts each, below the names of the columns.
std::vector<std::vector<std::string>> tune_rows(const Tune& tune);

// Describes a tune in a few sentences, a line each: "grid of 6 trials, 2 at once; ...".
std::vector<std::string> tune_sentences(const Tune& tune);

// A table for people, with the command that trains the best trial from the start. Lines that are not rows
// begin with "#". Tables wider than `width` (0: no limit) are divided.
std::string tune_table(const Tune& tune, int width = 0);

// The contents of tune.csv.
std::string tune_csv(const Tune& tune);

}  // namespace dtrain
