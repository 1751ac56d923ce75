#include "runs/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace dtrain {
namespace {

constexpr size_t kMostNotes = 100;

double number_or_nan(const Event& event, const char* key) {
  return number_at(event, key).value_or(std::numeric_limits<double>::quiet_NaN());
}

RunCourse& course_of(RunHistory& history, const std::string& run) {
  const auto found = std::find_if(history.courses.begin(), history.courses.end(),
                                  [&](const RunCourse& course) { return course.run == run; });
  if (found != history.courses.end()) return *found;
  RunCourse course;
  course.run = run;
  return *history.courses.insert(run == "baseline" ? history.courses.begin() : history.courses.end(), course);
}

void take_into_course(RunCourse& course, const std::string& kind, const Event& event) {
  course.evaluations.take(event);
  if (kind == "run_start") course.start = event;
  if (kind == "run_end") course.end = event;
  if (kind == "step") {
    const auto steps =
        static_cast<double>(std::max<int64_t>(1, integer_at(course.start, "steps_per_epoch").value_or(1)));
    course.steps.push_back({number_or_nan(event, "step") / steps, number_or_nan(event, "loss"),
                            number_or_nan(event, "accuracy"), number_or_nan(event, "learning_rate"),
                            number_or_nan(event, "examples_per_second")});
  }
}

void take(RunHistory& history, const Event& event) {
  const std::string kind = text_at(event, "event").value_or("");
  const std::string run = text_at(event, "run").value_or("");
  if (kind == "comparison") history.comparison = event;
  if (history.notes.size() < kMostNotes) {
    if (kind == "warning") history.notes.push_back(run + ": " + text_at(event, "text").value_or(""));
    if (kind == "restart")
      history.notes.push_back(
          fmt::format("restart {} from step {}: {}", integer_at(event, "restart").value_or(0),
                      integer_at(event, "step").value_or(0), text_at(event, "error").value_or("")));
    if (kind == "worker_lost")
      history.notes.push_back(fmt::format("worker {} was lost: {}", integer_at(event, "worker").value_or(-1),
                                          text_at(event, "reason").value_or("")));
  }
  if (run == "baseline" || run == "distributed") {
    if (kind == "run_start" || kind == "run_end" || kind == "step" || kind == "eval" || kind == "epoch")
      take_into_course(course_of(history, run), kind, event);
  }
}

}  // namespace

const RunCourse* RunHistory::distributed() const {
  return courses.empty() || courses.back().run != "distributed" ? nullptr : &courses.back();
}

RunHistory read_run_history(const std::filesystem::path& folder) {
  RunHistory history;
  history.finished = read_finished_run(folder, [&](const Event& event) { take(history, event); });
  return history;
}

}  // namespace dtrain
