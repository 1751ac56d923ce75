#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "display/chart.h"

namespace dtrain {
namespace {

constexpr double kStackLeft = 72, kStackRight = 20, kStackTop = 44, kStackBottom = 52;
constexpr double kLabelWidth = 34;  // of the x axis, at least

double drawn(double value) { return std::isfinite(value) && value > 0 ? value : 0; }

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += drawn(value);
  return sum;
}

}  // namespace

std::string stacked_chart(const StackedChart& chart) {
  double highest = 0;
  for (const auto& column : chart.columns) highest = std::max(highest, sum_of(column.second));
  if (!(highest > 0) || !std::isfinite(highest)) return "";
  const double step = grid_step(highest), top = std::ceil(highest / step) * step;
  const double width = chart.width - kStackLeft - kStackRight,
               height = chart.height - kStackTop - kStackBottom;
  const double bottom = kStackTop + height, room = width / static_cast<double>(chart.columns.size());
  std::string svg =
      svg_begin(chart.width, chart.height, chart.title, "") +
      fmt::format("<text x=\"16\" y=\"26\" class=\"title\">{}</text>\n", markup_text(chart.title));
  for (double value = 0; value <= top + step / 2; value += step) {
    const double y = bottom - height * value / top;
    svg += fmt::format(
        "<path class=\"{}\" d=\"M{} {:.1f}h{}\"/>\n<text x=\"{}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{:.4g}</text>\n",
        value == 0 ? "axis" : "grid", kStackLeft, y, width, kStackLeft - 8, y + 4, value);
  }
  double labelled = -kLabelWidth;
  for (size_t i = 0; i < chart.columns.size(); ++i) {
    const auto& [label, values] = chart.columns[i];
    const double x = kStackLeft + room * static_cast<double>(i);
    double y = bottom;
    for (size_t layer = 0; layer < values.size(); ++layer) {
      const double size = height * drawn(values[layer]) / top;
      y -= size;
      if (size < 0.05) continue;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" fill=\"{}\">"
          "<title>{} {}: {}, {:.4g}</title></rect>\n",
          x + room * 0.08, y, room * 0.84, size, series_colour(layer), markup_text(chart.x_title),
          markup_text(label), markup_text(chart.layers[layer]), values[layer]);
    }
    if (x + room / 2 - labelled < kLabelWidth) continue;
    labelled = x + room / 2;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", labelled,
                       bottom + 20, markup_text(label));
  }
  return svg + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n</svg>\n",
                           kStackLeft + width / 2, bottom + 40, markup_text(chart.x_title));
}

}  // namespace dtrain
