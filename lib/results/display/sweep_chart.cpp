#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "display/sweep.h"

namespace dtrain {
namespace {

constexpr double kTop = 48;  // of the charts in the document
constexpr double kLegendRow = 22;
constexpr double kLegendColumn = 205;
constexpr size_t kLegendColumns = 4;

// The numbers of each batch size by replicas.
std::map<int64_t, std::map<int64_t, SweepNumbers>> numbers_by_batch(const Sweep& sweep) {
  std::map<int64_t, std::map<int64_t, SweepNumbers>> all;
  const auto numbers = sweep_numbers(sweep);
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    if (numbers[i]) all[kept_batch(sweep, sweep.points[i])].emplace(sweep.points[i].replicas, *numbers[i]);
  }
  return all;
}

std::string legend(const LineChart& chart, double top) {
  std::string svg;
  size_t number = 0;
  for (const ChartLine& line : chart.lines) {
    if (line.dashed) continue;
    const double x = 72 + kLegendColumn * static_cast<double>(number % kLegendColumns);
    const double y = top + kLegendRow * static_cast<double>(number / kLegendColumns);
    svg += fmt::format("<path class=\"line\" stroke=\"{}\" d=\"M{} {}h26\"/>\n{}/>\n", series_colour(number),
                       x, y, chart_marker(line, x + 13, y));
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 34, y + 4.5, markup_text(line.name));
    ++number;
  }
  return svg;
}

}  // namespace

std::array<LineChart, 2> sweep_charts(const Sweep& sweep) {
  LineChart rates{.title = "Speed, examples/s", .x_title = "replicas"};
  LineChart efficiencies{.title = "Scaling efficiency, %", .x_title = "replicas"};
  size_t number = 0;
  for (const auto& [batch, points] : numbers_by_batch(sweep)) {
    ChartLine rate{.name = fmt::format("batch {} {}", batch, kept_batch_name(sweep)),
                   .colour = number,
                   .marked = true,
                   .marker = number};
    ChartLine efficiency = rate;
    ChartLine perfect{.name = "perfect scaling", .colour = number, .dashed = true}, whole = perfect;
    const auto& [fewest, reference] = *points.begin();
    for (const auto& [replicas, numbers] : points) {
      const auto x = static_cast<double>(replicas);
      rate.points.emplace_back(x, numbers.examples_per_second);
      rate.spread.emplace_back(numbers.lowest, numbers.highest);
      efficiency.points.emplace_back(x, 100 * numbers.scaling_efficiency);
      perfect.points.emplace_back(x, reference.examples_per_second * x / static_cast<double>(fewest));
      whole.points.emplace_back(x, 100);
    }
    rates.lines.insert(rates.lines.end(), {std::move(perfect), std::move(rate)});
    efficiencies.lines.insert(efficiencies.lines.end(), {std::move(whole), std::move(efficiency)});
    ++number;
  }
  for (LineChart* chart : {&rates, &efficiencies}) {
    chart->width = 460;
    chart->height = 270;
    chart->x_is_whole = chart->tells_values = true;
  }
  return {rates, efficiencies};
}

std::string sweep_chart(const Sweep& sweep) {
  const auto charts = sweep_charts(sweep);
  const double width = charts[0].width, legend_top = kTop + charts[0].height + kLegendRow;
  const size_t rows = (charts[0].lines.size() / 2 + kLegendColumns - 1) / kLegendColumns;
  std::string svg =
      svg_begin(2 * width, legend_top + kLegendRow * static_cast<double>(std::max<size_t>(1, rows)),
                sweep.name, kChartStyle);
  svg += fmt::format(
      "<text x=\"16\" y=\"34\">{}: {} scaling, {}, {}, communication {}; dashes: perfect scaling</text>\n",
      markup_text(sweep.name), sweep.strong ? "strong" : "weak", markup_text(sweep.strategy),
      markup_text(sweep.dataset), markup_text(sweep.communication));
  if (charts[0].lines.empty()) return svg + "<text x=\"16\" y=\"70\">no point was measured</text>\n</svg>\n";
  for (size_t i = 0; i < charts.size(); ++i)
    svg += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", width * static_cast<double>(i), kTop,
                       line_chart(charts[i]));
  return svg + legend(charts[0], legend_top) + "</svg>\n";
}

}  // namespace dtrain
