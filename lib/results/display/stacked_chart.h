// Draws columns made of layers as SVG: what something consists of, over epochs for example.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dtrain {

struct StackedChart {
  std::string title;  // of the values, including their unit
  std::string x_title;
  std::vector<std::string> layers;  // their names, from the bottom; colours as in series_colour()
  // For each column its label and the value of each layer; values that are not positive numbers are drawn as
  // 0.
  std::vector<std::pair<std::string, std::vector<double>>> columns;
  double width = 460;
  double height = 270;
};

// An <svg> element in the style of chart.h; empty if no value is above 0. Layers show their values when the
// pointer is over them.
std::string stacked_chart(const StackedChart& chart);

}  // namespace dtrain
