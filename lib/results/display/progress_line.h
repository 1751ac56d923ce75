// The line on a terminal that shows the progress of training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dtrain {

struct Progress {
  std::string run;  // baseline | distributed | training | overhead
  int64_t epoch = 0;
  int64_t epochs = 0;  // 0: the work has no epochs
  int64_t step = 0;    // within the run, like total_steps
  int64_t total_steps = 0;
  bool epoch_is_over = false;  // its steps are made: it is evaluated now, and saved
  std::optional<double> loss;
  std::string metric = "accuracy";  // the name of `value`
  std::optional<double> value;
  std::optional<double> examples_per_second;
  std::optional<double> seconds_left;
};

// At most width - 1 columns, because many terminals wrap after the last one. All ASCII, except what `run`
// contains. Parts that do not fit are left out, the least important first: run, metric, examples/s, time
// left, loss (or that it is evaluating), bar, step, epoch.
std::string progress_line(const Progress& progress, int width);

}  // namespace dtrain
