// Draws learning rates: those of a run, and those of a range test with its losses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "display/chart.h"
#include "runs/rate_test.h"

namespace dtrain {

constexpr size_t kTextPlotColumns = 64;

struct TextPlot {
  std::string title;
  // Each of `columns` values; NaN: nothing is drawn there. At least one is a number, and none is infinite.
  std::vector<std::vector<double>> curves = {};
  std::string marks = "*";   // of each curve; later ones are drawn over earlier ones
  bool logarithmic = false;  // the axis of the values; then none is below 0
  bool fitted = false;       // otherwise the axis begins at 0, and no value is below
  size_t columns = kTextPlotColumns;
  int rows = 13;                                       // at least 2
  std::string x_begin = {}, x_title = {}, x_end = {};  // below the horizontal axis
};

// Draws curves on a terminal: at most `columns` + 12 columns, `rows` + 3 lines (2 without a title) of ASCII.
std::string text_plot(const TextPlot& plot);

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

// How the test ended and what it says, in a few sentences.
std::vector<std::string> rate_sentences(const RateTest& test);

// For a terminal: the smoothed loss over the rate, and rate_sentences().
std::string rate_plot(const RateTest& test);

// The losses and their average over the rate.
LineChart rate_chart(const RateTest& test);

}  // namespace dtrain
