// The table of a run on the terminal: one line for each epoch, with training and evaluation side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "metrics/events.h"

namespace dtrain {

struct EpochRow {
  std::optional<int64_t> epoch = {};  // counted from 1
  int64_t epochs = 0;                 // of the run
  MetricValues training = {};
  MetricValues evaluation = {};  // empty: there was none after this epoch
  std::optional<double> examples_per_second = {};
  std::optional<double> seconds = {};  // of training and evaluation
  bool is_best = false;                // no evaluation of the run so far was better
};

// On a narrower terminal the table has neither speed nor time: 55 columns.
constexpr int kEpochTableWidth = 79;  // columns

// The two lines above the rows. `evaluated`: what the evaluations are of ("test"); `metric`: what is shown
// besides the loss ("accuracy"); `best_by`: the metric that decides which epochs are marked, "": none is. Of
// the table for a terminal of `width` columns.
std::string epoch_heading(const std::string& evaluated, const std::string& metric, const std::string& best_by,
                          int width);

// Lines are wider only where numbers are very long. `green` marks the best epoch with a colour too.
std::string epoch_line(const EpochRow& row, const std::string& main, bool green, int width);

}  // namespace dtrain
