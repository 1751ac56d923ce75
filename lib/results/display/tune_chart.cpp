#include <fmt/format.h>

#include "core/text.h"
#include "display/chart.h"
#include "display/tune.h"

namespace dtrain {
namespace {

constexpr size_t kColoured = 6;

std::string title_of_trial(const Tune& tune, size_t trial) {
  std::vector<std::string> values;
  for (size_t i = 0; i < tune.fields.size(); ++i) {
    const std::string& field = tune.fields[i];
    values.push_back(field.substr(field.rfind('.') + 1) + " " + tune.trials[trial].values[i]);
  }
  return trial_folder(trial) + ": " + join(values);
}

// Those with something to draw, the best first.
std::vector<size_t> drawn_trials(const Tune& tune) {
  std::vector<size_t> drawn;
  for (const size_t i : ranking(tune)) {
    if (!tune.trials[i].course.empty()) drawn.push_back(i);
  }
  return drawn;
}

}  // namespace

LineChart tune_lines(const Tune& tune) {
  LineChart chart{.title = fmt::format("{}: {} of the {}", tune.name, tune.metric,
                                       tune.of_validation ? "validation part" : "test examples"),
                  .x_title = "epochs"};
  chart.scale = ChartScale::kFitted;
  chart.tells_values = true;
  const std::vector<size_t> drawn = drawn_trials(tune);
  for (size_t place = drawn.size(); place-- > 0;) {  // the best last, over the others
    const bool coloured = place < kColoured;
    ChartLine line{.name = title_of_trial(tune, drawn[place]),
                   .colour = coloured ? place : kColoured - 1,
                   .marked = coloured,
                   .faint = !coloured};
    for (const auto& [epoch, value] : tune.trials[drawn[place]].course)
      line.points.emplace_back(static_cast<double>(epoch), value);
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

std::vector<std::pair<std::string, size_t>> tune_legend(const Tune& tune) {
  std::vector<std::pair<std::string, size_t>> legend;
  for (const size_t trial : drawn_trials(tune)) {
    if (legend.size() < kColoured) legend.emplace_back(title_of_trial(tune, trial), legend.size());
  }
  return legend;
}

std::string tune_chart(const Tune& tune) { return line_chart(tune_lines(tune), kChartStyle); }

}  // namespace dtrain
