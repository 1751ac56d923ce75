#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/range.h"
#include "job_file/print.h"
#include "metrics/show.h"
#include "report/page.h"
#include "report/report_charts.h"
#include "runs/comparison.h"
#include "spec/schedule_kinds.h"

namespace dtrain {
namespace {

constexpr size_t kLongText = 4000;

// "mirrored, 2 replicas"
std::string kind_of(const RunCourse& course) {
  if (!course.start.run) return course.run;
  if (course.start.strategy == "one_device") return *course.start.strategy;
  return show_text(course.start.strategy) + ", " + show_counted(course.start.replicas, "replica");
}

// That of the first run's loss.
const std::string& main_metric(const std::vector<RunHistory>& runs) {
  return objective_info(runs.front().finished.spec.train.loss.kind).main().name;
}

// Of too many runs for a chart the best by what they ended with, in their order; else all.
std::vector<size_t> charted(const std::vector<RunHistory>& runs) {
  std::vector<size_t> chosen = consecutive(size_t{0}, runs.size());
  if (runs.size() <= kMostCharted) return chosen;
  const std::string& metric = main_metric(runs);
  const auto value_of = [&](size_t run) {
    const std::optional<double> value = runs[run].finished.last(metric);
    return value && std::isnan(*value) ? std::nullopt : value;
  };
  const auto is_first = [&](size_t one, size_t other) {
    const auto left = value_of(one), right = value_of(other);
    return left && (!right || is_better(metric, "auto", *left, *right));
  };
  std::ranges::stable_sort(chosen, is_first);
  chosen.resize(kMostCharted);
  std::ranges::sort(chosen);
  return chosen;
}

// For one run, both of its courses; for several runs, the distributed ones of `chosen`.
std::vector<NamedCourse> courses_of(const std::vector<RunHistory>& runs, const std::vector<size_t>& chosen) {
  std::vector<NamedCourse> courses;
  if (runs.size() == 1) {
    const std::vector<RunCourse>& all = runs.front().courses;
    for (const RunCourse& course : all) {
      const bool baseline = course.run == "baseline";
      const bool on_one_device = all.size() == 1 && course.start.replicas == 1;
      courses.push_back({(on_one_device ? "training" : course.run) + ": " + kind_of(course),
                         baseline ? size_t{1} : size_t{0}, &course,
                         deciding_metric(runs.front().finished.spec)});
    }
    return courses;
  }
  for (const size_t i : chosen) {
    const RunCourse* course = runs[i].distributed();
    if (course != nullptr)
      courses.push_back(
          {fmt::format("{}: {}, {}", run_letter(i), runs[i].finished.spec.name, kind_of(*course)),
           courses.size(), course, deciding_metric(runs[i].finished.spec)});
  }
  return courses;
}

std::string legend(const std::vector<NamedCourse>& courses) {
  std::vector<std::pair<std::string, size_t>> series;
  for (const NamedCourse& of : courses) series.emplace_back(of.name, of.colour);
  return page_legend(series);
}

std::string tiles(const RunHistory& run) {
  const FinishedRun& finished = run.finished;
  std::string html = page_tile("status", finished.end.status.value_or("no end yet"));
  const std::string& metric = objective_info(finished.spec.train.loss.kind).main().name;
  const auto add = [&](const std::string& title, std::optional<double> value, const auto& show) {
    if (value) html += page_tile(title, show(value));
  };
  // First what the run ended with, with its interval.
  const auto add_metric = [&](const std::string& part, const std::string& name, std::optional<double> value) {
    const std::string interval =
        part == finished.end.part.value_or(kTestPart) ? show_interval(finished.end.intervals, name) : "";
    add(part + " " + name, value, [&](std::optional<double> number) {
      return show_metric(number) + (interval.empty() ? "" : " (" + interval + ")");
    });
  };
  if (finished.final_test) {
    add_metric(kTestPart, metric, finished.test(metric));
    add_metric(kTestPart, "loss", finished.test("loss"));
  }
  const std::string part = finished.evaluated_part();
  add_metric(part, metric, finished.last(metric));
  add_metric(part, "loss", finished.last("loss"));
  const RunCourse* course = run.distributed();
  const BestCheckpointSpec deciding = deciding_metric(finished.spec);
  const EvaluationPoint* best = course == nullptr ? nullptr : course->evaluations.best(deciding);
  if (best != nullptr && best != &course->evaluations.points.back()) {
    html += page_tile(fmt::format("{} {} of epoch {} of {}, the best by {}", part, metric, best->epoch,
                                  course->evaluations.points.back().epoch, *deciding.metric),
                      show_metric(find_metric(best->metrics, metric)));
  }
  add("examples/s", finished.end.speed.examples_per_second, show_rate);
  add("ms a step (median)", finished.end.speed.step_ms, show_milliseconds);
  const auto percent = [](std::optional<double> value) { return fmt::format("{:.1f} %", 100 * *value); };
  const ComparisonEvent comparison = run.comparison.value_or(ComparisonEvent());
  add("speedup over the baseline", comparison.speedup,
      [](std::optional<double> value) { return fmt::format("{:.2f} x", *value); });
  add("scaling efficiency", comparison.scaling_efficiency, percent);
  add("overhead at equal replicas", comparison.overhead, percent);
  if (finished.end.restart_cost.restarts)
    html += page_tile("restarts (seconds lost)", show_restarts(finished.end.restart_cost));
  return "<div class=\"tiles\">\n" + html + "</div>\n";
}

// Compares the baseline with the distributed run, and explains the result.
std::string comparison_of(const RunHistory& run, const std::string& title) {
  if (!run.comparison) return "";
  TableRows rows = comparison_rows(*run.comparison);
  for (size_t column = 1; column < 3; ++column) rows[0][column] += ": " + rows[1][column];
  rows.erase(rows.begin() + 1);
  return page_heading(title) + page_table(rows) +
         fmt::format("<p>{}</p>\n", markup_text(run.comparison->verdict.value_or(""), kLongText));
}

std::string text_of(const std::optional<std::string>& text) { return text.value_or("-"); }
std::string text_of(std::optional<int64_t> number) { return show_count(number); }

// "cpu, cuda", "2 x cpu"
std::string text_of(const std::optional<std::vector<std::string>>& words) {
  if (!words) return "-";
  const bool same = std::ranges::all_of(*words, [&](const auto& word) { return word == words->front(); });
  return words->size() > 1 && same ? fmt::format("{} x {}", words->size(), words->front()) : join(*words);
}

// The environment that the runs report when they start and end.
std::string environment_of(const std::vector<NamedCourse>& courses) {
  TableRows rows = {{""}};
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
  add_start("steps", &RunStartEvent::execution);
  add_start("matrix products", &RunStartEvent::products);
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
  add_start("bad examples, left out", &RunStartEvent::bad_examples);
  add_start("global batch", &RunStartEvent::global_batch);
  add_start("learning rate", &RunStartEvent::learning_rate_derivation);
  add_start("steps", &RunStartEvent::total_steps);
  add_start("parameters", &RunStartEvent::parameters);
  add_start("starts from", &RunStartEvent::weights);
  add_start("SHA-256 of these weights", &RunStartEvent::weights_sha256);
  add_start("type of numbers", &RunStartEvent::dtype);
  add_start("seed", &RunStartEvent::seed);
  add("ended as", [](const RunCourse& course) { return show_text(course.end.status); });
  add("total time", [](const RunCourse& course) { return show_seconds(course.end.seconds); });
  return page_table(rows, /*of_text=*/true);
}

std::string spec_of(const RunHistory& run) {
  std::string html =
      fmt::format("<details class=\"card\"><summary>spec of {} ({})</summary>\n<pre>",
                  markup_text(run.finished.spec.name), markup_text(run.finished.path, kLongText));
  for (const std::string& line : split_lines(print_spec(run.finished.spec)))
    html += markup_text(line, kLongText) + "\n";
  return html + "</pre></details>\n";
}

std::string notes_of(const RunHistory& run, const std::string& whose) {
  std::string html;
  const auto add = [&](const std::string& text) {
    html += fmt::format("<p class=\"note\">{}{}</p>\n", markup_text(whose), markup_text(text, kLongText));
  };
  for (const RunCourse& course : run.courses) {
    if (course.end.error) add(course.run + ": " + *course.end.error);
    if (course.end.noise_scale) add(course.run + ": " + show_noise_scale(*course.end.noise_scale));
    if (course.start.dataset_requested)
      add(fmt::format("{}: {} was not found; this is {}", course.run, *course.start.dataset_requested,
                      show_text(course.start.dataset)));
  }
  if (run.earlier_notes > 0)
    add(fmt::format("{} in metrics.jsonl; the last {}:", counted(run.earlier_notes, "earlier note"),
                    run.notes.size()));
  for (const std::string& note : run.notes) add(note);
  return html;
}

std::string bytes_text(const std::optional<int64_t>& bytes) { return bytes ? human_bytes(*bytes) : "-"; }

// What each phase of the training trained; empty if no run had any.
std::string phases_table(const std::vector<NamedCourse>& courses) {
  TableRows rows = {{"", "Phase", "Begins after step", "Trained parameters", "Of", "Learning rate",
                     "Gradients in a step", "Features kept"}};
  for (const NamedCourse& of : courses) {
    for (const PhaseEvent& phase : of.course->phases)
      rows.push_back({of.name, show_text(phase.name), show_count(phase.step),
                      show_count(phase.trained_parameters), show_count(phase.parameters),
                      phase.learning_rate_derivation.value_or("-"), bytes_text(phase.gradient_bytes),
                      bytes_text(phase.feature_bytes)});
  }
  return rows.size() == 1 ? "" : page_heading("Phases of the training") + page_table(rows);
}

// What the hosts of each run sent to each other, and how; empty if no run had several.
std::string links_table(const std::vector<NamedCourse>& courses) {
  TableRows rows = {
      {"", "Link", "Sent", "Received", "Sent again", "Round trip, ms", "The least", "Per second"}};
  std::string notes;
  for (const NamedCourse& of : courses) {
    const auto links = of.course->end.links.value_or(std::vector<LinkSummary>());
    for (const LinkSummary& link : links)
      rows.push_back({of.name, show_text(join(link.hosts.value_or(std::vector<std::string>()), " - ")),
                      bytes_text(link.bytes_sent), bytes_text(link.bytes_received),
                      bytes_text(link.retransmitted_bytes), show_milliseconds(link.round_trip_ms),
                      show_milliseconds(link.least_round_trip_ms), bytes_text(link.bytes_per_second)});
    if (links.size() == 1) continue;
    for (const std::string& line : link_lines(links))
      notes += fmt::format("<p class=\"note\">{}</p>\n", markup_text(of.name + ": " + line, kLongText));
  }
  return rows.size() == 1 ? "" : page_heading("Links between hosts") + page_table(rows) + notes;
}

std::string several(const std::vector<RunHistory>& runs, const std::vector<RunDifference>& differences) {
  std::vector<FinishedRun> finished;
  for (const RunHistory& run : runs) finished.push_back(run.finished);
  const RunsComparison comparison = compare_finished_runs(std::move(finished));
  const auto with_letters = [&](TableRows rows, bool of_text = false) {
    return page_table(table_of_runs(std::move(rows), runs.size()), of_text);
  };
  std::string html = page_heading("Results, and their ratio to A") + with_letters(number_rows(comparison));
  if (!differences.empty()) html += page_heading("Is the difference to A more than chance?");
  for (const std::string& note : chance_notes(differences))
    html += fmt::format("<p class=\"note\">{}</p>\n", markup_text(note, kLongText));
  if (const TableRows chance = chance_rows(differences); !chance.empty()) html += page_table(chance);
  const TableRows differing = differing_fields(comparison.runs);
  if (!differing.empty())
    html += page_heading("What differs in their specs") + with_letters(differing, /*of_text=*/true);
  return html;
}

// The layers of each model, those of the same ones together.
std::string layers_of(const std::vector<ModelReport>& models) {
  std::vector<std::pair<std::string, std::vector<size_t>>> different;
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string layers = layers_section(models[i]);
    if (layers.empty()) continue;
    const auto same = std::ranges::find_if(different, [&](const auto& one) { return one.first == layers; });
    if (same == different.end()) {
      different.push_back({layers, {i}});
    } else {
      same->second.push_back(i);
    }
  }
  std::string html;
  for (const auto& [layers, whose] : different) {
    std::string letters = run_letter(whose.front());
    if (whose.size() > 1) letters += fmt::format(" and {} more", whose.size() - 1);
    html += page_heading(models.size() == 1 ? "Model" : letters + ": model") + layers;
  }
  return html;
}

}  // namespace

std::string report_page(const std::vector<RunHistory>& runs, const std::vector<ModelReport>& models,
                        const std::vector<RunDifference>& differences) {
  const bool alone = runs.size() == 1;
  const std::string& first = runs.front().finished.spec.name;
  const std::string title = alone ? first
                                  : fmt::format("{} and {} more", first,
                                                show_counted(static_cast<int64_t>(runs.size()) - 1, "run"));
  const std::vector<size_t> chosen = charted(runs);
  const std::vector<NamedCourse> courses = courses_of(runs, chosen);
  std::string html = page_begin(title);
  for (size_t i = 0; i < runs.size(); ++i) {
    html += fmt::format("<p class=\"soft\">{}{}</p>\n", alone ? "" : run_letter(i) + ": ",
                        markup_text(runs[i].finished.path, kLongText));
  }
  html += alone ? tiles(runs.front()) : several(runs, differences);
  for (size_t i = 0; i < runs.size(); ++i) {
    html += comparison_of(
        runs[i], alone ? "Baseline and distributed run" : run_letter(i) + ": baseline and distributed run");
    html += notes_of(runs[i], alone ? "" : run_letter(i) + ": ");
  }
  const auto add_charts = [&](const std::string& heading, const std::string& above,
                              const std::string& charts) {
    if (!charts.empty())
      html += page_heading(heading) + above + "<div class=\"charts\">\n" + charts + "</div>\n";
  };
  if (chosen.size() < runs.size())
    html += fmt::format(
        "<p class=\"note\">Curves, times and environment are those of the {} runs of {} that ended with the "
        "best {}.</p>\n",
        chosen.size(), runs.size(), markup_text(main_metric(runs)));
  html += phases_table(courses);
  const bool decays_by_factors = std::ranges::any_of(runs, [](const RunHistory& run) {
    const std::string& kind = run.finished.spec.train.schedule.kind;
    return schedule_uses(kind, "values") || schedule_uses(kind, "factor");
  });
  add_charts("Curves", legend(courses), course_charts(courses, decays_by_factors));
  if (alone && !models.empty()) html += mistakes_section(models.front()) + examples_section(models.front());
  std::vector<NamedStepTimes> times;
  for (const NamedCourse& of : courses) {
    if (of.course->end.phases_ms) times.push_back({of.name, *of.course->end.phases_ms});
  }
  html += step_times_section(times);
  if (const std::string figures = phase_figures(courses); !figures.empty())
    html += "<div class=\"charts above\">\n" + figures + "</div>\n";
  if (alone) add_charts("The machine", "", machine_charts(runs.front().machine));
  html += links_table(courses);
  html += layers_of(models);
  if (!courses.empty()) html += page_heading("Environment") + environment_of(courses);
  html += page_heading(alone ? "Spec" : "Specs");
  for (const RunHistory& run : runs) html += spec_of(run);
  return html + page_end();
}

}  // namespace dtrain
