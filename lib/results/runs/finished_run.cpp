#include "runs/finished_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "job_file/load.h"
#include "metrics/jsonl.h"
#include "metrics/show.h"
#include "spec/fields.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

// "7.1 % less" if `value` is worse than `reference` by more than `tolerated`; nullopt otherwise.
// `more_is_better` says which direction is worse.
std::optional<std::string> shortfall(std::optional<double> reference, std::optional<double> value,
                                     double tolerated, bool more_is_better) {
  if (!reference || std::isnan(*reference)) return std::nullopt;
  if (!value) return "never came to it";
  if (std::isnan(*value)) return "is not a number";
  const double worse = more_is_better ? *reference - *value : *value - *reference;
  const double size = std::fabs(*reference);
  // Both may be infinite: their difference is not a number, nor is 0 times one of them.
  if (*value == *reference || worse <= 0 || worse <= tolerated * size) return std::nullopt;
  if (size == 0) return fmt::format("{:.4g} instead of 0", *value);
  return fmt::format("{:.1f} % {}", 100 * worse / size, more_is_better ? "less" : "more");
}

// Whether a run has timed its warm-up at most, as one that was resumed for its last steps.
bool is_untimed(const FinishedRun& run) {
  const bool warm_up_only = run.end.skipped_steps == 0 && run.spec.metrics.skip_steps > 0;
  return run.end.status == "completed" && (warm_up_only || !run.end.speed.examples_per_second);
}

constexpr size_t kMostNotes = 100;

RunCourse& course_of(RunHistory& history, const std::string& run) {
  const auto found = std::ranges::find(history.courses, run, &RunCourse::run);
  if (found != history.courses.end()) return *found;
  auto& added = *history.courses.emplace(run == "baseline" ? history.courses.begin() : history.courses.end());
  added.run = run;
  return added;
}

void take(RunHistory& history, const Event& event) {
  if (auto comparison = decode<ComparisonEvent>(event)) history.comparison = std::move(comparison);
  if (auto note = note_of(event)) history.notes.push_back(std::move(*note));
  if (history.notes.size() > kMostNotes) {
    history.notes.erase(history.notes.begin());
    ++history.earlier_notes;
  }
  if (const auto machine = decode<MachineEvent>(event)) history.machine.push_back(*machine);
  const std::string run = place_of(event).run.value_or("");
  if (run != "baseline" && run != "distributed") return;
  if (auto start = decode<RunStartEvent>(event)) course_of(history, run).start = std::move(*start);
  if (auto end = decode<RunEndEvent>(event)) course_of(history, run).end = std::move(*end);
  if (auto step = decode<StepEvent>(event)) {
    step->run.reset();  // there are millions of steps: no text in each
    step->time.reset();
    course_of(history, run).steps.push_back(std::move(*step));
  }
  if (const auto epoch = decode<EpochEvent>(event); epoch && epoch->phases_ms)
    course_of(history, run).epochs.push_back(*epoch);
  if (const auto phase = decode<PhaseEvent>(event)) {
    // A resumed run tells of the phase that it goes on with a second time.
    std::vector<PhaseEvent>& phases = course_of(history, run).phases;
    if (std::ranges::count(phases, phase->phase, &PhaseEvent::phase) == 0) phases.push_back(*phase);
  }
  if (decode<EpochEvent>(event) || decode<EvalEvent>(event)) course_of(history, run).evaluations.take(event);
}

}  // namespace

void EvaluationSeries::take(const Event& event) {
  if (const auto epoch = decode<EpochEvent>(event)) seconds += epoch->seconds.value_or(0);
  const auto evaluation = decode<EvalEvent>(event);
  if (!evaluation) return;
  seconds += evaluation->seconds.value_or(0);
  const EvaluationPoint point{evaluation->epoch.value_or(0), evaluation->metrics, seconds,
                              evaluation->step.value_or(0)};
  if (evaluation->part == kTestPart) {
    final_test = point;
    return;
  }
  of_validation = evaluation->part == kValidationPart;
  points.push_back(point);
}

double EvaluationPoint::value(const std::string& metric) const {
  return find_metric(metrics, metric).value_or(std::nan(""));
}

std::optional<double> FinishedRun::test(const std::string& metric) const {
  if (final_test) return find_metric(final_test->metrics, metric);
  return of_validation ? std::nullopt : last(metric);
}

const EvaluationPoint* EvaluationSeries::best(const BestCheckpointSpec& by) const {
  const auto value_of = [&](const EvaluationPoint& point) { return point.value(*by.metric); };
  const EvaluationPoint* best = nullptr;
  for (const EvaluationPoint& point : points) {
    if (std::isnan(value_of(point))) continue;
    if (best == nullptr || is_better(*by.metric, by.mode, value_of(point), value_of(*best))) best = &point;
  }
  return best;
}

BestCheckpointSpec deciding_metric(const JobSpec& spec) {
  BestCheckpointSpec best = spec.checkpoint.best;
  if (!best.metric) best.metric = spec.callbacks.early_stopping.metric.value_or("loss");
  return best;
}

std::optional<double> FinishedRun::best(const std::string& metric) const {
  const EvaluationPoint* found = best(BestCheckpointSpec{metric});
  return found ? find_metric(found->metrics, metric) : std::nullopt;
}

std::optional<double> FinishedRun::last(const std::string& metric) const {
  const auto final = find_metric(final_metrics, metric);
  return final || points.empty() ? final : find_metric(points.back().metrics, metric);
}

std::optional<double> FinishedRun::seconds_to(const std::string& metric, double value) const {
  for (const EvaluationPoint& point : points) {
    const double reached = point.value(metric);
    if (reached == value || is_better(metric, "auto", reached, value)) return point.seconds;
  }
  return std::nullopt;
}

FinishedRun read_finished_run(const std::filesystem::path& folder,
                              const std::function<void(const Event&)>& on_event) {
  FinishedRun run;
  run.path = folder.string();
  const std::filesystem::path spec = folder / "spec.yaml";
  // A spec of a user's may be a pipe, and is waited for.
  if (std::error_code none; std::filesystem::is_fifo(spec, none))
    throw Error(ExitCode::kUsage, spec.string() + ": not a regular file");
  LoadedSpec loaded = load_spec(spec);
  // Nothing is computed with the plug-ins of a finished run.
  std::erase_if(loaded.problems, [](const Problem& problem) { return problem.path == "plugin_versions"; });
  if (!loaded.ok()) {
    throw Error(ExitCode::kUsage, "{} is not the folder of a run that this dtrain can read: {}",
                folder.string(), loaded.problems.front().to_string());
  }
  run.spec = loaded.spec;
  for_each_line(folder / "metrics.jsonl", [&](const std::string&, const Event& event, bool) {
    if (!event.is_object()) return;
    on_event(event);
    if (place_of(event).run != "distributed") return;
    run.take(event);
    if (auto end = decode<RunEndEvent>(event)) run.end = std::move(*end);
  });
  run.final_metrics = run.end.validation ? run.end.validation->metrics : run.end.metrics;
  return run;
}

RunsComparison compare_finished_runs(std::vector<FinishedRun> runs) {
  RunsComparison comparison;
  comparison.runs = std::move(runs);
  const std::string& metric = comparison.metric =
      objective_info(comparison.runs.front().spec.train.loss.kind).main().name;
  std::optional<double>& target = comparison.target;
  for (const FinishedRun& run : comparison.runs) {
    const auto best = run.best(metric);
    if (best && (!target || is_better(metric, "auto", *target, *best))) target = best;
  }
  return comparison;
}

std::vector<std::string> RunsComparison::regressions(size_t index, double tolerated) const {
  const FinishedRun& a = runs.front();
  const FinishedRun& b = runs[index];
  std::vector<std::string> found;
  const auto add = [&](const std::string& what, const std::optional<std::string>& worse) {
    if (worse) found.push_back(what + ": " + *worse);
  };
  // The warm-up of one with that of the other is as good as any.
  if (!is_untimed(b) || (is_untimed(a) && b.end.speed.examples_per_second))
    add("examples/s",
        shortfall(a.end.speed.examples_per_second, b.end.speed.examples_per_second, tolerated, true));
  const bool comparable = a.of_validation == b.of_validation;  // evaluations of the same part
  const bool more = metric_info(metric).higher_is_better;
  if (comparable)
    add(a.evaluated_part() + " " + metric, shortfall(a.last(metric), b.last(metric), tolerated, more));
  if (a.final_test || b.final_test)
    add("test " + metric, shortfall(a.test(metric), b.test(metric), tolerated, more));
  if (comparable && target && *target != 0) {
    add(fmt::format("time to {} {}", metric, show_metric(target)),
        shortfall(a.seconds_to(metric, *target), b.seconds_to(metric, *target), tolerated, false));
  }
  return found;
}

std::string run_letter(size_t index) {
  const std::string last(1, static_cast<char>('A' + index % 26));
  return index < 26 ? last : run_letter(index / 26 - 1) + last;
}

TableRows table_of_runs(TableRows rows, size_t runs) {
  std::vector<std::string> letters = {""};
  for (size_t i = 0; i < runs; ++i) letters.push_back(run_letter(i));
  rows.insert(rows.begin(), std::move(letters));
  if (runs <= kMostBeside) return rows;
  TableRows turned(runs + 1);
  for (const auto& row : rows) {
    for (size_t i = 0; i < turned.size(); ++i) turned[i].push_back(row[i]);
  }
  return turned;
}

TableRows differing_fields(const std::vector<FinishedRun>& runs) {
  TableRows rows;
  for (const auto& field : job_fields()) {
    std::vector<std::string> row = {field.path};
    for (const FinishedRun& run : runs) {
      const auto value = to_json(field, run.spec);
      row.push_back(value.is_null() || !applies(job_fields(), field, run.spec) ? "-" : yaml_text(value));
    }
    if (std::any_of(row.begin() + 2, row.end(), [&](const std::string& text) { return text != row[1]; }))
      rows.push_back(row);
  }
  return rows;
}

std::optional<std::string> note_of(const Event& event) {
  if (const auto warning = decode<WarningEvent>(event))
    return warning->run.value_or("") + ": " + warning->text.value_or("");
  if (const auto restart = decode<RestartEvent>(event))
    return fmt::format("restart {} from step {}: {}", restart->restart.value_or(0), restart->step.value_or(0),
                       restart->error.value_or(""));
  if (const auto lost = decode<WorkerLostEvent>(event))
    return fmt::format("worker {} was lost: {}", lost->worker.value_or(-1), lost->reason.value_or(""));
  return std::nullopt;
}

const RunCourse* RunHistory::distributed() const {
  return courses.empty() || courses.back().run != "distributed" ? nullptr : &courses.back();
}

RunHistory read_run_history(const std::filesystem::path& folder) {
  RunHistory history;
  history.finished = read_finished_run(folder, [&](const Event& event) { take(history, event); });
  return history;
}

}  // namespace dtrain
