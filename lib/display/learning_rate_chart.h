// The learning rate of a run as a picture.
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
  bool logarithmic = false;  // the rate's axis: for curves that are multiplied down
};

// For a terminal: at most 76 columns and 16 lines of ASCII.
std::string learning_rate_plot(const LearningRateCurve& curve);

// An SVG document that needs nothing else, in the reader's light or dark theme.
std::string learning_rate_chart(const LearningRateCurve& curve);

}  // namespace dtrain
