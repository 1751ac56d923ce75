// Shows the results of a tune as text.
#pragma once

#include <string>
#include <vector>

#include "runs/tune_results.h"

namespace dtrain {

// The trials, the best first, a row of texts each, below the names of the columns.
std::vector<std::vector<std::string>> tune_rows(const Tune& tune);

// What a tune is: "grid of 6 trials, 2 at once; ..." in a few sentences, a line each.
std::vector<std::string> tune_sentences(const Tune& tune);

// A table for people, with the command that trains the best trial anew. Lines that are no rows begin with
// "#". Tables wider than `width` (0: no limit) are divided.
std::string tune_table(const Tune& tune, int width = 0);

// The contents of tune.csv.
std::string tune_csv(const Tune& tune);

}  // namespace dtrain
