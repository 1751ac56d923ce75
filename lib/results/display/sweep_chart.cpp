#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/text.h"
#include "display/chart.h"
#include "display/sweep.h"

namespace dtrain {
namespace {

constexpr double kWidth = 900;
constexpr double kPanelTop = 86;
constexpr double kPanelHeight = 270;
constexpr double kPanelWidth = 340;
constexpr double kLegendTop = kPanelTop + kPanelHeight + 74;
constexpr double kLegendRow = 22;
constexpr double kLegendColumn = 205;
constexpr size_t kLegendColumns = 4;
constexpr double kClosestLabels = 22;  // pixels between the centres of two labels of the x axis

struct Value {
  int64_t replicas;
  double middle;
  double lowest;
  double highest;
};

// The points of one batch size.
struct Line {
  int64_t batch;
  std::string colour;
  size_t marker;
  std::vector<Value> rates;
  std::vector<Value> efficiencies;  // percent
  int64_t reference_replicas = 1;
  double reference_rate = 0;

  double perfect_rate(int64_t replicas) const {
    return reference_rate * static_cast<double>(replicas) / static_cast<double>(reference_replicas);
  }
};

std::vector<Line> lines_of(const Sweep& sweep) {
  std::map<int64_t, Line> by_batch;
  const auto numbers = sweep_numbers(sweep);
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    if (!numbers[i]) continue;
    const SweepNumbers& n = *numbers[i];
    const int64_t replicas = sweep.points[i].replicas;
    Line& line = by_batch[kept_batch(sweep, sweep.points[i])];
    line.reference_replicas = n.reference_replicas;
    if (replicas == n.reference_replicas) line.reference_rate = n.examples_per_second;
    line.rates.push_back({replicas, n.examples_per_second, n.lowest, n.highest});
    const double efficiency = 100 * n.scaling_efficiency;
    line.efficiencies.push_back({replicas, efficiency, efficiency, efficiency});
  }
  std::vector<Line> lines;
  for (auto& [batch, line] : by_batch) {
    line.batch = batch;
    line.marker = lines.size();
    line.colour = series_colour(lines.size());
    const auto fewer = [](const Value& a, const Value& b) { return a.replicas < b.replicas; };
    std::sort(line.rates.begin(), line.rates.end(), fewer);
    std::sort(line.efficiencies.begin(), line.efficiencies.end(), fewer);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string number_label(double value) {
  return value < 10 ? fmt::format("{:g}", value) : with_separators(std::llround(value));
}

// A different shape for each line around (x, y), so that lines differ by more than colour.
std::string marker(size_t kind, double x, double y, const std::string& colour) {
  constexpr double r = 4.5;
  switch (kind % 4) {
    case 0:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x, y, r, colour);
    case 1:
      return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x - r,
                         y - r, 2 * r, 2 * r, colour);
    case 2:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}h{}z\" fill=\"{}\"/>\n", x, y - r - 1, r + 1,
                         2 * r + 1, -2 * (r + 1), colour);
    default:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}l{} {}l{} {}z\" fill=\"{}\"/>\n", x, y - r - 1, r + 1,
                         r + 1, -r - 1, r + 1, -r - 1, -r - 1, colour);
  }
}

// One diagram: a value against the number of replicas.
class Panel {
 public:
  Panel(double left, const std::vector<int64_t>& replicas, double highest, const std::string& title)
      : left_(left),
        replicas_(replicas),
        step_(grid_step(highest)),
        top_value_(step_ * std::ceil(highest / step_)) {
    svg_ = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"title\">{}</text>\n", left_, kPanelTop - 16,
                       title);
    draw_grid();
  }

  void draw(const Line& line, const std::vector<Value>& values) {
    std::string path;
    for (const Value& value : values)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(value.replicas), y(value.middle));
    svg_ += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"{}\"/>\n", line.colour, path);
    for (const Value& value : values) {
      if (value.highest > value.lowest) {
        svg_ += fmt::format(
            "<path class=\"spread\" stroke=\"{}\" d=\"M{:.1f} {:.1f}v{:.1f}m-4 0h8m0 {:.1f}h-8\"/>\n",
            line.colour, x(value.replicas), y(value.lowest), y(value.highest) - y(value.lowest),
            y(value.lowest) - y(value.highest));
      }
      svg_ += marker(line.marker, x(value.replicas), y(value.middle), line.colour);
    }
  }

  // Draws a dashed line from one value to another.
  void draw_perfect(const std::string& colour, int64_t from, double from_value, int64_t to, double to_value) {
    svg_ += fmt::format("<path class=\"perfect\" stroke=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n",
                        colour, x(from), y(from_value), x(to), y(to_value));
  }

  const std::string& svg() const { return svg_; }

 private:
  double x(int64_t replicas) const {
    const double first = static_cast<double>(replicas_.front());
    const double last = static_cast<double>(replicas_.back());
    if (first == last) return left_ + kPanelWidth / 2;
    constexpr double kMargin = 16;  // keeps markers off the axis
    return left_ + kMargin +
           (static_cast<double>(replicas) - first) / (last - first) * (kPanelWidth - 2 * kMargin);
  }
  double y(double value) const { return kPanelTop + kPanelHeight * (1 - value / top_value_); }

  void draw_grid() {
    for (double value = 0; value <= top_value_ + step_ / 2; value += step_) {
      svg_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}h{}\"/>\n", value == 0 ? "axis" : "grid",
                          left_, y(value), kPanelWidth);
      svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left_ - 8,
                          y(value) + 4, number_label(value));
    }
    const double bottom = kPanelTop + kPanelHeight;
    double labelled = -kClosestLabels;
    for (const int64_t replicas : replicas_) {
      if (x(replicas) - labelled < kClosestLabels) continue;
      labelled = x(replicas);
      svg_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v5\"/>\n", labelled, bottom);
      svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", labelled,
                          bottom + 20, replicas);
    }
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">replicas</text>\n",
                        left_ + kPanelWidth / 2, bottom + 40);
  }

  double left_;
  std::vector<int64_t> replicas_;  // in ascending order
  double step_;
  double top_value_;
  std::string svg_;
};

std::vector<int64_t> replicas_of(const std::vector<Line>& lines) {
  std::set<int64_t> all;
  for (const Line& line : lines) {
    for (const Value& value : line.rates) all.insert(value.replicas);
  }
  return {all.begin(), all.end()};
}

std::string panels(const std::vector<Line>& lines) {
  const std::vector<int64_t> replicas = replicas_of(lines);
  double highest_rate = 0;
  double highest_efficiency = 105;  // leaves space between the line of perfect scaling and the frame
  for (const Line& line : lines) {
    for (const Value& value : line.rates)
      highest_rate = std::max({highest_rate, value.highest, line.perfect_rate(value.replicas)});
    for (const Value& value : line.efficiencies)
      highest_efficiency = std::max(highest_efficiency, value.middle);
  }
  Panel rates(80, replicas, highest_rate, "examples/s");
  Panel efficiencies(520, replicas, highest_efficiency, "scaling efficiency, %");
  for (const Line& line : lines) {
    rates.draw_perfect(line.colour, line.reference_replicas, line.reference_rate, line.rates.back().replicas,
                       line.perfect_rate(line.rates.back().replicas));
    rates.draw(line, line.rates);
  }
  efficiencies.draw_perfect("#888", replicas.front(), 100, replicas.back(), 100);
  for (const Line& line : lines) efficiencies.draw(line, line.efficiencies);
  return rates.svg() + efficiencies.svg();
}

std::string legend(const Sweep& sweep, const std::vector<Line>& lines) {
  std::string svg;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t row = i / kLegendColumns;
    const double x = 80 + kLegendColumn * static_cast<double>(i % kLegendColumns);
    const double y = kLegendTop + kLegendRow * static_cast<double>(row);
    svg += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"M{} {}h26\"/>\n", lines[i].colour, x, y);
    svg += marker(lines[i].marker, x + 13, y, lines[i].colour);
    svg += fmt::format("<text x=\"{}\" y=\"{}\">batch {} {}</text>\n", x + 34, y + 4.5, lines[i].batch,
                       kept_batch_name(sweep));
  }
  return svg;
}

}  // namespace

std::string sweep_chart(const Sweep& sweep) {
  const std::vector<Line> lines = lines_of(sweep);
  const size_t legend_rows = (lines.size() + kLegendColumns - 1) / kLegendColumns;
  const double height = kLegendTop + kLegendRow * static_cast<double>(std::max<size_t>(1, legend_rows));
  std::string svg = svg_begin(kWidth, height, sweep.name, kChartStyle);
  svg += fmt::format(
      "<text x=\"80\" y=\"34\">{}: {} scaling, {}, {}, communication {}; dashes: perfect scaling</text>\n",
      markup_text(sweep.name), sweep.strong ? "strong" : "weak", markup_text(sweep.strategy),
      markup_text(sweep.dataset), markup_text(sweep.communication));
  if (lines.empty()) {
    svg += "<text x=\"80\" y=\"70\">no point was measured</text>\n";
  } else {
    svg += panels(lines) + legend(sweep, lines);
  }
  return svg + "</svg>\n";
}

}  // namespace dtrain
