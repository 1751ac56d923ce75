#include "display/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/text.h"
#include "core/version.h"
#include "display/chart.h"
#include "display/report_charts.h"
#include "metrics/show.h"
#include "runs/comparison.h"
#include "spec/load.h"

namespace dtrain {
namespace {

constexpr size_t kLongText = 4000;

// Has no scripts and is not allowed to load anything.
constexpr const char* kHead = R"(<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
)";

// By this a page is known to be ours, whatever version made it.
constexpr const char* kGenerator = R"(<meta name="generator" content="dtrain report"/>)";
constexpr size_t kMostHeadBytes = 2000;

constexpr const char* kPageStyle = R"(<style>
  :root { --ink: #1f2328; --soft: #5c6570; --page: #f5f6f8; --card: #fff; --edge: #dfe3e8 }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e3e6ea; --soft: #9aa4af; --page: #121417; --card: #1b1d21; --edge: #33373e }
  }
  * { box-sizing: border-box }
  body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
  main { max-width: 76rem; margin: 0 auto; padding: 1.25rem }
  h1 { font-size: 1.6rem; line-height: 1.25; margin: .25rem 0; overflow-wrap: anywhere }
  h2 { font-size: 1.15rem; margin: 2rem 0 .6rem }
  p { margin: .4rem 0 }
  .soft, .note { color: var(--soft); overflow-wrap: anywhere }
  .tiles, .charts { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 9.5rem), 1fr)) }
  @media (min-width: 60rem) { .tiles { grid-template-columns: repeat(4, 1fr) } }
  .charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)) }
  .tile, figure, .card { background: var(--card); border: 1px solid var(--edge); border-radius: .5rem }
  .tile { padding: .6rem .8rem }
  .tile b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums }
  .tile span { color: var(--soft); font-size: .85rem }
  .card { padding: .8rem }
  figure { margin: 0; padding: .3rem }
  figure svg { display: block; width: 100%; height: auto }
  .page { fill: none }
  .legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; margin: .5rem 0 .8rem; padding: 0 }
  .legend li { overflow-wrap: anywhere }
  .swatch { display: inline-block; width: .8em; height: .8em; border-radius: .2em; margin-right: .45em }
  .scroll { overflow-x: auto }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
  th, td { text-align: right; padding: .35rem .7rem; border-top: 1px solid var(--edge); vertical-align: top }
  tr:first-child > * { border-top: 0 }
  td { white-space: nowrap }
  .words td { white-space: normal; min-width: 9rem; overflow-wrap: break-word }
  th { font-weight: 600; min-width: 7.5rem }
  th[scope=row], th:first-child { text-align: left; font-weight: 400; color: var(--soft) }
  .bar-title { font-size: .9rem; margin-top: .4rem }
  .bar { display: flex; height: 1.4rem; margin: .15rem 0 .7rem; overflow: hidden; border-radius: .25rem; gap: 1px }
  details { margin: .6rem 0 }
  summary { cursor: pointer; overflow-wrap: anywhere }
  @media (max-width: 40rem) {
    main { padding: .8rem }
    .card { padding: .4rem }
    table { font-size: .85rem }
    th, td { padding: .3rem .45rem }
    th { min-width: 0 }
    th:first-child { min-width: 5.5rem }
  }
  pre { overflow-x: auto; margin: .6rem 0 0; font: .85rem/1.45 ui-monospace, monospace }
</style>
)";

using Rows = std::vector<std::vector<std::string>>;

// The first row has the headings of the columns, and the first column those of the rows. Text in cells may
// wrap.
std::string table(const Rows& rows, bool of_text = false) {
  std::string html = fmt::format("<div class=\"card scroll\"><table{}>\n", of_text ? " class=\"words\"" : "");
  for (size_t row = 0; row < rows.size(); ++row) {
    html += "<tr>";
    for (size_t column = 0; column < rows[row].size(); ++column) {
      const char* open = row == 0 ? "th scope=\"col\"" : column == 0 ? "th scope=\"row\"" : "td";
      html += fmt::format("<{}>{}</{}>", open, markup_text(rows[row][column]),
                          row == 0 || column == 0 ? "th" : "td");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string heading(const std::string& text) { return "<h2>" + markup_text(text) + "</h2>\n"; }

// "mirrored, 2 replicas"
std::string kind_of(const RunCourse& course) {
  if (!course.start.run) return course.run;
  return show_text(course.start.strategy) + ", " + show_counted(course.start.replicas, "replica");
}

std::string letter(size_t index) { return std::string(1, static_cast<char>('A' + index)); }

// For one run, both of its courses; for several runs, the distributed ones.
std::vector<NamedCourse> courses_of(const std::vector<RunHistory>& runs) {
  std::vector<NamedCourse> courses;
  if (runs.size() == 1) {
    for (const RunCourse& course : runs.front().courses) {
      const bool baseline = course.run == "baseline";
      courses.push_back({course.run + ": " + kind_of(course), baseline ? size_t{1} : size_t{0}, &course});
    }
    return courses;
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunCourse* course = runs[i].distributed();
    if (course != nullptr)
      courses.push_back(
          {fmt::format("{}: {}, {}", letter(i), runs[i].finished.spec.name, kind_of(*course)), i, course});
  }
  return courses;
}

std::string legend(const std::vector<NamedCourse>& courses) {
  std::string html = "<ul class=\"legend\">\n";
  for (const NamedCourse& of : courses) {
    html += fmt::format("<li><span class=\"swatch\" style=\"background:{}\"></span>{}</li>\n",
                        series_colour(of.colour), markup_text(of.name));
  }
  return html + "</ul>\n";
}

std::string tile(const std::string& title, const std::string& value) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", markup_text(value),
                     markup_text(title));
}

std::string tiles(const RunHistory& run) {
  const FinishedRun& finished = run.finished;
  std::string html = tile("status", finished.status.empty() ? "no end yet" : finished.status);
  const auto add = [&](const char* title, std::optional<double> value, const auto& show) {
    if (value) html += tile(title, show(value));
  };
  if (finished.final_test) {
    add("test accuracy", finished.test_accuracy(), show_metric);
    add("test loss", finished.test_loss(), show_metric);
  }
  add(finished.of_validation ? "validation accuracy" : "evaluation accuracy", finished.last_accuracy(),
      show_metric);
  add(finished.of_validation ? "validation loss" : "evaluation loss", finished.last_loss(), show_metric);
  add("examples/s", finished.examples_per_second, show_rate);
  add("ms a step (median)", finished.step_ms, show_milliseconds);
  const auto percent = [](std::optional<double> value) { return fmt::format("{:.1f} %", 100 * *value); };
  const ComparisonEvent comparison = run.comparison.value_or(ComparisonEvent());
  add("speedup over the baseline", comparison.speedup,
      [](std::optional<double> value) { return fmt::format("{:.2f} x", *value); });
  add("scaling efficiency", comparison.scaling_efficiency, percent);
  add("overhead at equal replicas", comparison.overhead, percent);
  if (finished.restart_cost.restarts)
    html += tile("restarts (seconds lost)", show_restarts(finished.restart_cost));
  return "<div class=\"tiles\">\n" + html + "</div>\n";
}

// Compares the baseline with the distributed run, and explains the result.
std::string comparison_of(const RunHistory& run, const std::string& title) {
  if (!run.comparison) return "";
  Rows rows;
  for (const auto& row : comparison_rows(*run.comparison)) rows.emplace_back(row.begin(), row.end());
  for (size_t column = 1; column < 3; ++column) rows[0][column] += ": " + rows[1][column];
  rows.erase(rows.begin() + 1);
  return heading(title) + table(rows) +
         fmt::format("<p>{}</p>\n", markup_text(run.comparison->verdict.value_or(""), kLongText));
}

std::string text_of(const std::optional<std::string>& text) { return text.value_or("-"); }
std::string text_of(std::optional<int64_t> number) { return show_count(number); }

// "cpu, cuda", "2 x cpu"
std::string text_of(const std::optional<std::vector<std::string>>& words) {
  if (!words) return "-";
  const bool same =
      std::all_of(words->begin(), words->end(), [&](const auto& word) { return word == words->front(); });
  return words->size() > 1 && same ? fmt::format("{} x {}", words->size(), words->front()) : join(*words);
}

// The environment that the runs report when they start and end.
std::string environment_of(const std::vector<NamedCourse>& courses) {
  Rows rows = {{""}};
  for (const NamedCourse& of : courses) rows[0].push_back(of.name);
  const auto add = [&](const char* title, const std::function<std::string(const RunCourse&)>& show) {
    std::vector<std::string> row = {title};
    for (const NamedCourse& of : courses) row.push_back(show(*of.course));
    if (std::any_of(row.begin() + 1, row.end(), [](const std::string& cell) { return cell != "-"; }))
      rows.push_back(row);
  };
  const auto add_start = [&](const char* title, auto member) {
    add(title, [member](const RunCourse& course) { return text_of(course.start.*member); });
  };
  add_start("started (UTC)", &RunStartEvent::time);
  add_start("host", &RunStartEvent::host);
  add_start("processor", &RunStartEvent::processor);
  add_start("dtrain", &RunStartEvent::dtrain);
  add_start("LibTorch", &RunStartEvent::libtorch);
  add_start("strategy", &RunStartEvent::strategy);
  add_start("replicas", &RunStartEvent::replicas);
  add_start("parameter servers", &RunStartEvent::servers);
  add_start("devices", &RunStartEvent::devices);
  add_start("threads of a replica", &RunStartEvent::threads_per_replica);
  add_start("dataset", &RunStartEvent::dataset);
  add_start("read from", &RunStartEvent::dataset_source);
  add_start("training examples", &RunStartEvent::train_examples);
  add_start("validation examples", &RunStartEvent::validation_examples);
  add_start("test examples", &RunStartEvent::test_examples);
  add_start("global batch", &RunStartEvent::global_batch);
  add_start("learning rate", &RunStartEvent::learning_rate_derivation);
  add_start("steps", &RunStartEvent::total_steps);
  add_start("parameters", &RunStartEvent::parameters);
  add_start("type of numbers", &RunStartEvent::dtype);
  add_start("seed", &RunStartEvent::seed);
  add("ended as", [](const RunCourse& course) { return show_text(course.end.status); });
  add("total time", [](const RunCourse& course) { return show_seconds(course.end.seconds); });
  return table(rows, /*of_text=*/true);
}

std::string spec_of(const RunHistory& run) {
  std::string html =
      fmt::format("<details class=\"card\"><summary>spec of {} ({})</summary>\n<pre>",
                  markup_text(run.finished.spec.name), markup_text(run.finished.path, kLongText));
  std::istringstream lines(print_spec(run.finished.spec));
  for (std::string line; std::getline(lines, line);) html += markup_text(line, kLongText) + "\n";
  return html + "</pre></details>\n";
}

std::string notes_of(const RunHistory& run, const std::string& whose) {
  std::string html;
  const auto add = [&](const std::string& text) {
    html += fmt::format("<p class=\"note\">{}{}</p>\n", markup_text(whose), markup_text(text, kLongText));
  };
  for (const RunCourse& course : run.courses) {
    if (course.end.error) add(course.run + ": " + *course.end.error);
    if (course.start.dataset_requested)
      add(fmt::format("{}: {} was not found; this is {}", course.run, *course.start.dataset_requested,
                      show_text(course.start.dataset)));
  }
  for (const std::string& note : run.notes) add(note);
  return html;
}

// Whether the learning rate of at least one run decays by factors.
bool are_multiplied_down(const std::vector<RunHistory>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const RunHistory& run) {
    const std::string& kind = run.finished.spec.train.schedule.kind;
    return kind == "piecewise" || kind == "step" || kind == "exponential" || kind == "reduce_on_plateau";
  });
}

std::string several(const std::vector<RunHistory>& runs) {
  std::vector<FinishedRun> finished;
  for (const RunHistory& run : runs) finished.push_back(run.finished);
  const RunsComparison comparison = compare_finished_runs(std::move(finished));
  std::vector<std::string> head = {""};
  for (size_t i = 0; i < runs.size(); ++i) head.push_back(letter(i));
  const auto with_head = [&](Rows rows) {
    rows.insert(rows.begin(), head);
    return table(rows);
  };
  std::string html = heading("Results, and their ratio to A") + with_head(number_rows(comparison));
  const Rows differing = differing_fields(comparison.runs);
  if (!differing.empty()) html += heading("What differs in their specs") + with_head(differing);
  return html;
}

}  // namespace

bool is_report_page(const std::string& page) {
  return page.substr(0, kMostHeadBytes).find(kGenerator) != std::string::npos;
}

std::string report_page(const std::vector<RunHistory>& runs) {
  const bool alone = runs.size() == 1;
  const std::string& first = runs.front().finished.spec.name;
  const std::string title = alone ? first
                                  : fmt::format("{} and {} more", first,
                                                show_counted(static_cast<int64_t>(runs.size()) - 1, "run"));
  const std::vector<NamedCourse> courses = courses_of(runs);
  std::string html = kHead;
  html += fmt::format("{}\n", kGenerator);
  html += fmt::format("<title>dtrain report: {}</title>\n{}{}</head>\n<body>\n<main>\n<h1>{}</h1>\n",
                      markup_text(title), kChartStyle, kPageStyle, markup_text(title));
  for (size_t i = 0; i < runs.size(); ++i) {
    html += fmt::format("<p class=\"soft\">{}{}</p>\n", alone ? "" : letter(i) + ": ",
                        markup_text(runs[i].finished.path, kLongText));
  }
  html += alone ? tiles(runs.front()) : several(runs);
  for (size_t i = 0; i < runs.size(); ++i) {
    html += comparison_of(
        runs[i], alone ? "Baseline and distributed run" : letter(i) + ": baseline and distributed run");
    html += notes_of(runs[i], alone ? "" : letter(i) + ": ");
  }
  const std::string charts = course_charts(courses, are_multiplied_down(runs));
  if (!charts.empty())
    html += heading("Curves") + legend(courses) + "<div class=\"charts\">\n" + charts + "</div>\n";
  const std::string phases = phase_chart(courses);
  if (!phases.empty())
    html += heading("Where the time of a step goes") + "<div class=\"card\">\n" + phases + "</div>\n";
  if (!courses.empty()) html += heading("Environment") + environment_of(courses);
  html += heading(alone ? "Spec" : "Specs");
  for (const RunHistory& run : runs) html += spec_of(run);
  return html + fmt::format("<p class=\"soft\">made by dtrain {}</p>\n</main>\n</body>\n</html>\n", kVersion);
}

}  // namespace dtrain
