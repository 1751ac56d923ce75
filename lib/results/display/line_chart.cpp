#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/text.h"
#include "display/chart.h"

namespace dtrain {
namespace {

constexpr double kLeft = 72;
constexpr double kRight = 18;
constexpr double kTop = 42;
constexpr double kBottom = 50;
constexpr double kMostDecades = 6;
constexpr double kLeastSpan = 1e-12;  // a smaller span means that all values are the same
constexpr double kMostShown = 1e300;
constexpr double kClosestMarks = 22;     // between two that the caller chose
constexpr double kLeastLabelWidth = 60;  // between the centres of two labels of the x axis

struct Axis : ValueAxis {
  std::vector<double> marks;
  double step = 0;  // between marks; 0 if the axis is logarithmic
};

Axis linear_axis(double low, double high, bool from_zero) {
  if (from_zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
  if (high - low < kLeastSpan) {
    const double around = std::max(std::fabs(low) / 10, low == 0 ? 1.0 : kLeastSpan);
    high += around;
    if (!from_zero) low -= around;
  }
  Axis axis;
  axis.step = grid_step(high - low);
  axis.low = axis.step * std::floor(low / axis.step + 1e-9);
  axis.high = axis.step * std::ceil(high / axis.step - 1e-9);
  const auto count = std::lround((axis.high - axis.low) / axis.step);
  for (long i = 0; i <= count; ++i) axis.marks.push_back(axis.low + axis.step * static_cast<double>(i));
  return axis;
}

Axis logarithmic_axis(double low, double high) {
  low = std::max(low, high * std::pow(10, -kMostDecades));
  Axis axis;
  axis.logarithmic = true;
  axis.low = std::pow(10, std::floor(std::log10(low) + 1e-9));
  axis.high = std::pow(10, std::ceil(std::log10(high) - 1e-9));
  if (!(axis.low < axis.high)) axis.high = axis.low * 10;
  const auto decades = std::lround(std::log10(axis.high / axis.low));
  for (long decade = 0; decade <= decades; ++decade) {
    const double mark = axis.low * std::pow(10, static_cast<double>(decade));
    axis.marks.push_back(mark);
    if (decades <= 2 && decade < decades) axis.marks.insert(axis.marks.end(), {2 * mark, 5 * mark});
  }
  return axis;
}

using Point = std::pair<double, double>;

// False for NaN, too.
bool is_finite(const Point& point) {
  return std::fabs(point.first) <= kMostShown && std::fabs(point.second) <= kMostShown;
}

Axis value_axis(const LineChart& chart) {
  std::optional<double> low, high, least_positive;
  for (const ChartLine& line : chart.lines) {
    for (const auto& [lowest, highest] : line.spread) high = std::max(high.value_or(highest), highest);
    for (const Point& point : line.points) {
      if (!is_finite(point)) continue;
      low = std::min(low.value_or(point.second), point.second);
      high = std::max(high.value_or(point.second), point.second);
      if (point.second > 0) least_positive = std::min(least_positive.value_or(point.second), point.second);
    }
  }
  if (chart.scale == ChartScale::kLogarithmic && least_positive && *low < *high)
    return logarithmic_axis(*least_positive, *high);
  return linear_axis(low.value_or(0), high.value_or(0), chart.scale != ChartScale::kFitted);
}

Axis time_axis(const LineChart& chart) {
  double end = chart.x_end;
  for (const ChartLine& line : chart.lines) {
    for (const Point& point : line.points) {
      if (is_finite(point)) end = std::max(end, point.first);
    }
  }
  Axis axis;
  axis.high = end > kLeastSpan ? end : 1;
  const double labels = std::max(2.0, (chart.width - kLeft - kRight) / kLeastLabelWidth);
  axis.step = grid_step(axis.high);
  for (const double mark : chart.x_marks) {
    const double distance = axis.marks.empty() ? axis.high : mark - axis.marks.back();
    if (distance / axis.high * (chart.width - kLeft - kRight) >= kClosestMarks) axis.marks.push_back(mark);
  }
  if (!axis.marks.empty()) return axis;
  while (axis.high / axis.step > labels) axis.step *= 2;
  for (double mark = 0; mark <= axis.high * (1 + 1e-9); mark += axis.step) axis.marks.push_back(mark);
  return axis;
}

std::string label(double value, const Axis& axis) {
  if (std::fabs(value) < axis.step * 1e-6) value = 0;  // a rounding error of the sum
  if (std::fabs(value) >= 1000 && std::fabs(value) < 1e12) return with_separators(std::llround(value));
  if (axis.step < 1e-4 || std::fabs(value) >= 1000) return fmt::format("{:.4g}", value);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(axis.step) + 1e-9)));
  return fmt::format("{:.{}f}", value, decimals);
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart)
      : chart_(chart),
        values_(value_axis(chart)),
        times_(time_axis(chart)),
        width_(chart.width - kLeft - kRight),
        height_(chart.height - kTop - kBottom) {}

  std::string svg(const std::string& style) {
    svg_ = svg_begin(chart_.width, chart_.height, chart_.title, style) +
           fmt::format("<text x=\"16\" y=\"26\" class=\"title\">{}</text>\n", markup_text(chart_.title));
    draw_axes();
    for (const ChartLine& line : chart_.lines) draw_line(line);
    for (const ChartRing& ring : chart_.rings) draw_ring(ring);
    for (const ChartLine& line : chart_.lines) draw_points(line);
    return svg_ + "</svg>\n";
  }

 private:
  double x(double time) const { return kLeft + width_ * times_.place(time); }
  double y(double value) const { return kTop + height_ * (1 - values_.place(value)); }

  void draw_axes() {
    for (const double mark : values_.marks) {
      svg_ += fmt::format("<path class=\"{}\" d=\"M{} {:.1f}h{}\"/>\n",
                          mark == values_.marks.front() ? "axis" : "grid", kLeft, y(mark), width_);
      svg_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                          y(mark) + 4, label(mark, values_));
    }
    const double bottom = kTop + height_;
    for (const double mark : times_.marks) {
      svg_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {}v5\"/>\n", x(mark), bottom);
      svg_ +=
          fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(mark), bottom + 20,
                      chart_.x_unit > 0 ? fmt::format("{:.2g}", chart_.x_unit * std::pow(10, mark))
                                        : label(mark, times_));
    }
    svg_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kLeft + width_ / 2,
                        bottom + 40, markup_text(chart_.x_title));
  }

  // Draws a line, with a gap for each value that is not finite.
  void draw_line(const ChartLine& line) {
    std::string path;
    bool goes_on = false;
    for (const Point& point : line.points) {
      const bool finite = is_finite(point);
      if (finite)
        path += fmt::format("{}{:.1f} {:.1f}", goes_on ? "L" : "M", x(point.first), y(point.second));
      goes_on = finite;
    }
    if (path.empty()) return;
    const char* const kind = line.dashed ? "perfect" : line.faint ? "line faint" : "line";
    svg_ +=
        fmt::format("<path class=\"{}\" stroke=\"{}\" d=\"{}\"/>\n", kind, series_colour(line.colour), path);
  }

  void draw_spread(const ChartLine& line) {
    for (size_t i = 0; i < line.spread.size(); ++i) {
      const auto [lowest, highest] = line.spread[i];
      if (!(highest > lowest)) continue;
      svg_ += fmt::format(
          "<path class=\"spread\" stroke=\"{}\" d=\"M{:.1f} {:.1f}v{:.1f}m-4 0h8m0 {:.1f}h-8\"/>\n",
          series_colour(line.colour), x(line.points[i].first), y(lowest), y(highest) - y(lowest),
          y(lowest) - y(highest));
    }
  }

  void draw_points(const ChartLine& line) {
    draw_spread(line);
    if (line.dashed || (!line.marked && !chart_.tells_values)) return;
    for (const Point& point : line.points) {
      if (!is_finite(point)) continue;
      svg_ += "<g>" + chart_marker(line, x(point.first), y(point.second));
      svg_ += chart_.tells_values
                  ? fmt::format("/><title>{}: {:.5g} ({} {:.4g})</title></g>\n", markup_text(line.name),
                                point.second, markup_text(chart_.x_title), point.first)
                  : "/></g>\n";
    }
  }

  void draw_ring(const ChartRing& ring) {
    if (!is_finite(ring.point)) return;
    svg_ += fmt::format(
        "<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"9\" "
        "stroke=\"{}\"><title>{}</title></circle>\n",
        x(ring.point.first), y(ring.point.second), series_colour(ring.colour), markup_text(ring.name));
  }

  const LineChart& chart_;
  Axis values_;
  Axis times_;
  double width_;
  double height_;
  std::string svg_;
};

}  // namespace

std::string chart_marker(const ChartLine& line, double x, double y) {
  const std::string look =
      fmt::format("{} fill=\"{}\"", line.marked ? "" : " class=\"spot\"", series_colour(line.colour));
  switch (line.marker % 4) {
    case 0:
      return fmt::format("<circle{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"", look, x, y);
    case 1:
      return fmt::format("<rect{} x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\"", look, x - 4, y - 4);
    case 2:
      return fmt::format("<path{} d=\"M{:.1f} {:.1f}l5 9h-10z\"", look, x, y - 5);
    default:
      return fmt::format("<path{} d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\"", look, x, y - 5);
  }
}

std::string line_chart(const LineChart& chart, const std::string& style) { return Drawing(chart).svg(style); }

}  // namespace dtrain
