#include "runs/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dtrain {
namespace {

constexpr size_t kMostNotes = 100;

RunCourse& course_of(RunHistory& history, const std::string& run) {
  const auto found = std::ranges::find(history.courses, run, &RunCourse::run);
  if (found != history.courses.end()) return *found;
  auto& added = *history.courses.emplace(run == "baseline" ? history.courses.begin() : history.courses.end());
  added.run = run;
  return added;
}

// A resumed run tells of the phase that it goes on with a second time.
void take_phase(RunCourse& course, const PhaseEvent& phase) {
  const bool is_new = std::ranges::none_of(
      course.phases, [&](const PhaseEvent& known) { return known.phase == phase.phase; });
  if (is_new) course.phases.push_back(phase);
}

void take_into_courses(RunHistory& history, const Event& event) {
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
  if (const auto phase = decode<PhaseEvent>(event)) take_phase(course_of(history, run), *phase);
  if (decode<EpochEvent>(event) || decode<EvalEvent>(event)) course_of(history, run).evaluations.take(event);
}

void take(RunHistory& history, const Event& event) {
  if (auto comparison = decode<ComparisonEvent>(event)) history.comparison = std::move(comparison);
  if (history.notes.size() < kMostNotes) {
    if (auto note = note_of(event)) history.notes.push_back(std::move(*note));
  }
  if (const auto machine = decode<MachineEvent>(event)) history.machine.push_back(*machine);
  take_into_courses(history, event);
}

}  // namespace

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
