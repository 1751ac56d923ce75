// Draws the learning rate of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace dtrain {

struct LearningRateCurve {
  std::string title;
  std::function<double(int64_t)> at;  // the rate of each optimizer step, 0-based
  int64_t steps = 1;
  int64_t steps_per_epoch = 1;
  bool logarithmic = false;  // the axis of the rate; for curves that decay by factors
};

// For a terminal: at most 76 columns and 16 lines of ASCII.
std::string learning_rate_plot(const LearningRateCurve& curve);

// A self-contained SVG document, in the reader's light or dark theme.
std::string learning_rate_chart(const LearningRateCurve& curve);

}  // namespace dtrain
