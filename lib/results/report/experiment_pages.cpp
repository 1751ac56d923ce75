// The pages of sweeps, tunes and range tests.
#include <fmt/format.h>

#include "display/rate_plot.h"
#include "display/sweep.h"
#include "display/tune.h"
#include "metrics/show.h"
#include "report/page.h"
#include "report/report.h"
#include "report/report_charts.h"

namespace dtrain {
namespace {

using Numbers = std::vector<std::optional<SweepNumbers>>;

std::string point_name(const Sweep& sweep, const SweepPoint& point) {
  return fmt::format("{}, batch {} {}", show_counted(point.replicas, "replica"), kept_batch(sweep, point),
                     kept_batch_name(sweep));
}

TableRows point_rows(const Sweep& sweep, const Numbers& numbers) {
  TableRows rows = {
      {"point", "global batch", "examples/s", "lowest", "highest", "step ms", "speedup", "efficiency"}};
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    std::vector<std::string> row = {point_name(sweep, point), with_separators(point.global_batch)};
    if (numbers[i]) {
      row.insert(row.end(), {show_rate(numbers[i]->examples_per_second), show_rate(numbers[i]->lowest),
                             show_rate(numbers[i]->highest), show_milliseconds(numbers[i]->step_ms),
                             fmt::format("{:.2f} x", numbers[i]->speedup),
                             fmt::format("{:.1f} %", 100 * numbers[i]->scaling_efficiency)});
    } else {
      row.insert(row.end(),
                 {point.error.empty() ? "not measured" : "failed: " + point.error, "", "", "", "", ""});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string sweep_page(const Sweep& sweep) {
  const Numbers numbers = sweep_numbers(sweep);
  std::string html = page_begin("sweep of " + sweep.name) +
                     fmt::format("<p class=\"soft\">{}</p>\n", markup_text(sweep.directory, 1000));
  html += "<div class=\"tiles\">\n" + page_tile("scaling", sweep.strong ? "strong" : "weak") +
          page_tile("strategy", sweep.strategy) +
          page_tile(sweep.dataset_requested ? "dataset (a fallback)" : "dataset", sweep.dataset) +
          page_tile("parameters", show_count(sweep.parameters)) + "</div>\n";
  html += fmt::format("<p class=\"note\">{} of {} after {}; communication {}, {} per replica on {}, {}</p>\n",
                      show_counted(sweep.repeats, "run"), show_counted(sweep.steps, "timed step"),
                      show_counted(sweep.skipped_steps, "step"), markup_text(sweep.communication),
                      show_counted(sweep.threads_per_replica, "thread"), show_counted(sweep.cores, "core"),
                      markup_text(sweep.dtype));
  const auto charts = sweep_charts(sweep);
  std::vector<std::pair<std::string, size_t>> series;
  for (const ChartLine& line : charts[0].lines) {
    if (!line.dashed) series.emplace_back(line.name, line.colour);
  }
  html += page_heading("Scaling") + page_legend(series) + "<div class=\"charts\">\n" +
          page_figure(charts[0]) + page_figure(charts[1]) + "</div>\n";
  std::vector<NamedStepTimes> times;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    if (numbers[i]) times.push_back({point_name(sweep, sweep.points[i]), numbers[i]->phases_ms});
  }
  return html + step_times_section(times) + page_heading("Points") + page_table(point_rows(sweep, numbers)) +
         page_end();
}

std::string tune_page(const Tune& given) {
  const Tune tune = combined(given);
  std::string html = page_begin("tune of " + tune.name) +
                     fmt::format("<p class=\"soft\">{}</p>\n", markup_text(tune.directory, 1000));
  const auto best = best_trial(tune);
  html += "<div class=\"tiles\">\n" + page_tile("trials", show_count(std::ssize(given.trials)));
  if (best) {
    html += page_tile((tune.is_combined ? "best mean " : "best ") + tune.metric,
                      show_metric(tune.trials[*best].scores.back()));
    for (size_t i = 0; i < tune.fields.size(); ++i)
      html += page_tile(tune.fields[i], tune.trials[*best].values[i]);
  }
  html += "</div>\n";
  for (const std::string& sentence : tune_sentences(tune))
    html += fmt::format("<p class=\"note\">{}</p>\n", markup_text(sentence, 1000));
  if (best)
    html += fmt::format("<p class=\"note\">to train the best from the start: <code>{}</code></p>\n",
                        markup_text(command_of(tune, *best), 4000));
  const LineChart lines = tune_lines(tune);
  if (!lines.lines.empty())
    html += page_heading("Course") + page_legend(tune_legend(tune)) + page_figure(lines);
  if (const std::string coordinates = tune_coordinates(tune); !coordinates.empty()) {
    html +=
        page_heading("Values") + page_figure(coordinates) + page_heading("Importance of the fields") +
        page_table(importance_rows(tune)) +
        "<p class=\"note\">How much of the differences in rank the values of a field explain by themselves. "
        "Fields that matter only together have little.</p>\n";
  }
  return html + page_heading("Trials, the best first") + page_table(tune_rows(tune)) + page_end();
}

std::string rate_page(const RateTest& test) {
  std::string html = page_begin("learning rates of " + test.name, "dtrain find-lr");
  for (const std::string& sentence : rate_sentences(test))
    html += fmt::format("<p>{}</p>\n", markup_text(sentence, 1000));
  if (!test.points.empty())
    html += page_legend({{"smoothed loss", 0}, {"loss of the step", 1}}) + page_figure(rate_chart(test));
  TableRows rows = {{"learning rate", "loss", "smoothed"}};
  for (const RatePoint& point : test.points)
    rows.push_back({fmt::format("{:.3g}", point.rate), fmt::format("{:.5g}", point.loss),
                    fmt::format("{:.5g}", point.smoothed)});
  return html + page_heading("Steps") + page_table(rows) + page_end();
}

}  // namespace dtrain
