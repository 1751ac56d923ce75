#include "display/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "core/text.h"
#include "display/texts.h"

namespace dtrain {
namespace {

constexpr double kStackLeft = 72, kStackRight = 20, kStackTop = 44, kStackBottom = 52;
constexpr double kLabelWidth = 34;  // of the x axis, at least

}  // namespace

std::string chart_style() { return std::string("<style>\n") + texts::chart_css + "</style>\n"; }

double grid_step(double highest) {
  const double power = std::pow(10, std::floor(std::log10(highest / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (highest / (factor * power) <= 6) return factor * power;
  }
  return 10 * power;
}

double ValueAxis::place(double value) const {
  const double inside = std::clamp(value, low, high);
  return logarithmic ? std::log(inside / low) / std::log(high / low) : (inside - low) / (high - low);
}

const char* series_colour(size_t number) {
  static constexpr std::array<const char*, 6> kColours = {"#3b82d6", "#e0762f", "#2f9e77",
                                                          "#b75cb7", "#b8922a", "#d1495b"};
  return kColours[number % kColours.size()];
}

std::string svg_begin(double width, double height, const std::string& title, const std::string& style) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "role=\"img\">\n<title>{2}</title>\n{3}<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
      width, height, markup_text(title), style);
}

std::string markup_text(const std::string& text, size_t limit) {
  std::string safe;
  for (const char c : printable(text, limit)) {
    static const std::map<char, std::string> kEscaped = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    const auto escaped = kEscaped.find(c);
    safe += escaped == kEscaped.end() ? std::string(1, c) : escaped->second;
  }
  return safe;
}

std::string stacked_chart(const StackedChart& chart) {
  double highest = 0;
  for (const auto& [label, values] : chart.columns)
    highest = std::max(highest, std::accumulate(values.begin(), values.end(), 0.0));
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
      const double size = height * values[layer] / top;
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
