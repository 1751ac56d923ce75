// The one line on a terminal that shows how far training is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dtrain {

struct Progress {
  std::string run;  // baseline | distributed
  int64_t epoch = 0;
  int64_t epochs = 0;
  int64_t step = 0;  // over the run, as total_steps
  int64_t total_steps = 0;
  std::optional<double> loss;
  std::optional<double> accuracy;
  std::optional<double> examples_per_second;
  std::optional<double> seconds_left;
};

// At most width - 1 columns (in the last one many terminals wrap), all ASCII but what `run` holds. What does
// not fit is left out, the least important first: run, accuracy, examples/s, time left, loss, bar, step.
std::string progress_line(const Progress& progress, int width);

}  // namespace dtrain
