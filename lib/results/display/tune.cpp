#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "display/table_layout.h"
#include "display/tune.h"
#include "metrics/show.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

constexpr size_t kWidestValue = 40;

// The last part of the path, unless another field has the same.
std::string column_of(const Tune& tune, const std::string& field) {
  const auto last = [](const std::string& path) { return path.substr(path.rfind('.') + 1); };
  const auto alike = std::ranges::count_if(
      tune.fields, [&](const std::string& other) { return last(other) == last(field); });
  return alike == 1 ? last(field) : field;
}

std::string outcome_of(const Tune& tune, size_t trial) {
  const TuneTrial& one = tune.trials[trial];
  if (one.error.empty()) return status_of(tune, trial);
  return fmt::format("failed, exit code {}: {}", static_cast<int>(one.exit_code), printable(one.error));
}

constexpr size_t kColoured = 6;

std::string title_of_trial(const Tune& tune, size_t trial) {
  std::vector<std::string> values;
  for (size_t i = 0; i < tune.fields.size(); ++i) {
    const std::string& field = tune.fields[i];
    values.push_back(field.substr(field.rfind('.') + 1) + " " + tune.trials[trial].values[i]);
  }
  return trial_title(tune, trial) + (values.empty() ? "" : ": " + join(values));
}

// Those with something to draw, the best first.
std::vector<size_t> drawn_trials(const Tune& tune) {
  std::vector<size_t> drawn;
  for (const size_t i : ranking(tune)) {
    if (!tune.trials[i].course.empty()) drawn.push_back(i);
  }
  return drawn;
}

// An axis of tune_coordinates(): its labels from the bottom, evenly, and which one each trial has.
struct CoordinateAxis {
  std::string name;
  std::vector<std::string> labels;
  std::vector<size_t> places;
};

// The axes of the fields, and of the metric at the end of this rung (from 1), which has the best at the top.
std::vector<CoordinateAxis> coordinate_axes(const Tune& tune, const std::vector<size_t>& trials,
                                            size_t rung) {
  std::vector<CoordinateAxis> axes;
  for (size_t field = 0; field < tune.fields.size(); ++field) {
    std::vector<std::string> values;
    for (const size_t trial : trials) values.push_back(tune.trials[trial].values[field]);
    CoordinateAxis axis{column_of(tune, tune.fields[field]), values_in_order(values), {}};
    for (const std::string& value : values)
      axis.places.push_back(static_cast<size_t>(std::ranges::find(axis.labels, value) - axis.labels.begin()));
    axes.push_back(std::move(axis));
  }
  CoordinateAxis& metric = axes.emplace_back(CoordinateAxis{tune.metric, {}, {}});
  metric.places.resize(trials.size());
  std::vector<size_t> order(trials.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  const auto score = [&](size_t i) { return tune.trials[trials[i]].scores[rung - 1]; };
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return is_better(tune.metric, "auto", score(b), score(a)); });
  for (const size_t i : order) {
    metric.places[i] = metric.labels.size();
    metric.labels.push_back(show_metric(score(i)));
  }
  return axes;
}

}  // namespace

TableRows tune_rows(const Tune& tune) {
  TableRows rows = {{"rank", "trial"}};
  for (const std::string& field : tune.fields)
    rows[0].push_back(printable(column_of(tune, field), kWidestValue));
  rows[0].push_back(tune.is_combined ? "mean" : tune.metric);
  if (tune.is_combined) rows[0].emplace_back("deviation");
  rows[0].insert(rows[0].end(), {"epochs", "seconds", "outcome"});
  for (const size_t i : ranking(tune)) {
    const TuneTrial& trial = tune.trials[i];
    const bool scored = trial.has_result();
    std::vector<std::string> row = {scored ? std::to_string(rows.size()) : "-",
                                    trial_title(tune, i).substr(std::string_view("trial-").size())};
    for (const std::string& value : trial.values) row.push_back(printable(value, kWidestValue));
    row.push_back(scored ? show_metric(trial.scores.back()) : "-");
    if (tune.is_combined) row.push_back(scored ? show_metric(sample_deviation(trial.singles)) : "-");
    row.push_back(show_count(trial.epochs));
    row.push_back(fmt::format("{:.1f}", trial.seconds));
    row.push_back(outcome_of(tune, i));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> tune_sentences(const Tune& tune) {
  const std::string part = tune.of_validation ? "validation part" : "test examples";
  std::vector<std::string> sentences = {fmt::format(
      "{} of {}, {} at once; {} of the {} after training, {} is better",
      tune.search == "grid"  ? "grid"
      : tune.search == "tpe" ? "search by TPE"
                             : "random search",
      show_counted(std::ssize(tune.trials), tune.is_combined ? "combination" : "trial"), tune.at_once,
      tune.metric, part, metric_info(tune.metric).higher_is_better ? "higher" : "lower")};
  if (tune.is_combined) {
    std::vector<std::string> times;
    if (tune.folds > 0) times.push_back(show_counted(tune.folds, "fold"));
    if (tune.seeds > 1) times.push_back(show_counted(tune.seeds, "seed"));
    sentences.push_back("mean and standard deviation over " + join(times, " and "));
  }
  if (tune.epochs.size() > 1) {
    std::vector<std::string> rungs;
    for (size_t i = 0; i < tune.epochs.size(); ++i) {
      const auto came = [&](const TuneTrial& trial) { return trial.scores.size() > i; };
      const auto trials =
          tune.asynchronous ? std::ranges::count_if(tune.trials, came) : std::ssize(trials_of_rung(tune, i));
      if (trials > 0) rungs.push_back(fmt::format("{} to epoch {}", trials, tune.epochs[i]));
    }
    sentences.push_back(fmt::format("{}halving, one in {} continues: {}",
                                    tune.asynchronous ? "asynchronous " : "", tune.halving,
                                    join(rungs, ", then ")));
  }
  if (!tune.of_validation)
    sentences.push_back(
        "NOTE: the test examples chose the best trial, so expect worse values on new data; to choose by a "
        "part of the training examples, use --set data.split.validation=0.1");
  return sentences;
}

std::string tune_table(const Tune& given, int width) {
  const Tune tune = combined(given);
  std::string text = fmt::format("# tune of {}\n", printable(tune.name));
  for (const std::string& sentence : tune_sentences(tune)) text += "# " + sentence + "\n";
  auto rows = tune_rows(tune);
  for (size_t i = 0; i < rows.size(); ++i) rows[i][0].insert(0, i == 0 ? "# " : "  ");
  text += lay_out(rows, {.indent = "", .ends_in_text = true, .width = width});
  const auto best = best_trial(tune);
  if (!best) return text + "# no trial has a result\n";
  if (!tune.is_combined) {
    const std::string folder = tune.directory + "/" + trial_folder(*best);
    text += fmt::format("# the best, {}, is in {}\n", trial_folder(*best), printable(folder, 1000));
  }
  text += tune.is_combined ? "# to train the best as the spec divides the examples: "
                           : "# to train it from the start: ";
  text += printable(command_of(tune, *best), 4000) + "\n";
  return text + fmt::format("# tune.json, tune.csv and tune.svg are in {}; a page: dtrain report {}\n",
                            printable(tune.directory, 1000), printable(shell_word(tune.directory), 1000));
}

std::string tune_csv(const Tune& tune) {
  std::string text = "trial,status";
  for (const std::string& field : tune.fields) text += "," + csv_cell(field);
  text += "," + tune.metric;
  const Tune whole = combined(tune);
  if (whole.is_combined) text += ",mean,deviation";
  text += ",epochs,seconds,exit_code,error\n";
  const size_t each = tune.trials.size() / std::max<size_t>(1, whole.trials.size());
  std::vector<size_t> order;
  for (const size_t one : ranking(whole)) {
    for (size_t i = one * each; i < (one + 1) * each; ++i) order.push_back(i);
  }
  for (const size_t i : order) {
    const TuneTrial &trial = tune.trials[i], &combination = whole.trials[i / each];
    text += trial_folder(i) + "," + status_of(tune, i);
    for (const std::string& value : trial.values) text += "," + csv_cell(value);
    text += "," + (trial.has_result() ? fmt::format("{}", trial.scores.back()) : "");
    if (whole.is_combined)
      text += combination.has_result()
                  ? fmt::format(",{},{}", combination.scores.back(), sample_deviation(combination.singles))
                  : ",,";
    text += fmt::format(",{},{},{},{}\n", trial.epochs, trial.seconds, static_cast<int>(trial.exit_code),
                        csv_cell(trial.error));
  }
  return text;
}

LineChart tune_lines(const Tune& tune) {
  LineChart chart{.title = fmt::format("{}: {} of the {}", tune.name, tune.metric,
                                       tune.of_validation ? "validation part" : "test examples"),
                  .x_title = "epochs",
                  .scale = ChartScale::kFitted,
                  .tells_values = true};
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

std::string tune_coordinates(const Tune& tune) {
  constexpr double kTop = 44, kHeight = 340, kMostLabels = 12, kSide = 70, kApart = 150;
  std::vector<size_t> trials = drawn_trials(tune);
  std::erase_if(trials, [&](size_t trial) { return !tune.trials[trial].has_result(); });
  if (trials.size() < 2 || tune.fields.empty()) return "";
  // Only metrics after the same epochs compare. The ranking goes by rungs: the second one came as far as any
  // but the first.
  const size_t rung = tune.trials[trials[1]].scores.size();
  std::erase_if(trials, [&](size_t trial) { return tune.trials[trial].scores.size() < rung; });
  const std::vector<CoordinateAxis> axes = coordinate_axes(tune, trials, rung);
  const double width = std::max(900.0, 2 * kSide + kApart * static_cast<double>(axes.size() - 1));
  const auto x = [&](size_t axis) {
    return kSide + (width - 2 * kSide) * static_cast<double>(axis) / static_cast<double>(axes.size() - 1);
  };
  const auto y = [&](size_t axis, size_t place) {
    const auto last = static_cast<double>(axes[axis].labels.size() - 1);
    return kTop + kHeight * (last == 0 ? 0.5 : 1 - static_cast<double>(place) / last);
  };
  std::string svg = svg_begin(width, kTop + kHeight + 20, "values and " + tune.metric + " of the trials", "");
  svg.insert(4, fmt::format(" style=\"min-width:{}px\"", width));
  for (size_t place = trials.size(); place-- > 0;) {  // the best last, over the others
    const bool coloured = place < kColoured;
    std::string path;
    for (size_t axis = 0; axis < axes.size(); ++axis)
      path +=
          fmt::format("{}{:.1f} {:.1f}", axis == 0 ? "M" : "L", x(axis), y(axis, axes[axis].places[place]));
    svg += fmt::format("<path class=\"line{}\" stroke=\"{}\" d=\"{}\"><title>{}</title></path>\n",
                       coloured ? "" : " faint", series_colour(coloured ? place : kColoured - 1), path,
                       markup_text(title_of_trial(tune, trials[place])));
  }
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const auto& [name, labels, places] = axes[axis];
    svg += fmt::format(
        "<path class=\"axis\" d=\"M{0:.1f} {1}v{2}\"/>\n<text x=\"{0:.1f}\" y=\"24\" "
        "text-anchor=\"middle\">{3}</text>\n",
        x(axis), kTop, kHeight, markup_text(name, 24));
    const auto each = static_cast<size_t>(std::ceil(static_cast<double>(labels.size()) / kMostLabels));
    for (size_t i = (labels.size() - 1) % each; i < labels.size(); i += each)  // with the topmost
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(axis) + 5, y(axis, i) + 4,
                         markup_text(labels[i], 16));
  }
  return svg + "</svg>\n";
}

TableRows importance_rows(const Tune& tune) {
  TableRows rows = {{"field", "explains"}};
  const std::vector<std::optional<double>> importance = importance_of_fields(tune);
  for (size_t i = 0; i < importance.size(); ++i)
    rows.push_back({tune.fields[i], importance[i] ? fmt::format("{:.0f} %", 100 * *importance[i]) : "-"});
  return rows;
}

std::string tune_chart(const Tune& tune) { return line_chart(tune_lines(combined(tune)), chart_style()); }

}  // namespace dtrain
