#include "runs/sweep_results.h"

#include <algorithm>

#include "core/clock.h"
#include "core/files.h"
#include "core/version.h"
#include "metrics/events.h"
#include "metrics/statistics.h"

namespace dtrain {
namespace {

// The median of `of(run)` over the runs of the point, which has at least one.
template <class Of>
double median_of(const SweepPoint& point, const Of& of) {
  std::vector<double> values;
  for (const SweepRun& run : point.runs) values.push_back(of(run));
  return median(std::move(values)).value_or(0);
}

SweepNumbers numbers_of(const SweepPoint& point) {
  SweepNumbers numbers;
  const auto rate = [](const SweepRun& run) { return run.examples_per_second; };
  const auto slower = [](const SweepRun& a, const SweepRun& b) {
    return a.examples_per_second < b.examples_per_second;
  };
  const auto [slowest, fastest] = std::minmax_element(point.runs.begin(), point.runs.end(), slower);
  numbers.examples_per_second = median_of(point, rate);
  numbers.lowest = slowest->examples_per_second;
  numbers.highest = fastest->examples_per_second;
  numbers.step_ms = median_of(point, [](const SweepRun& run) { return run.step_ms; });
  for (size_t i = 0; i < kStepTimes; ++i)
    numbers.phases_ms.values[i] =
        median_of(point, [i](const SweepRun& run) { return run.phases_ms.values[i]; });
  return numbers;
}

std::string status_of(const Sweep& sweep, const SweepPoint& point) {
  if (!point.error.empty()) return "failed";
  if (point.runs.empty()) return "not_measured";
  return static_cast<int64_t>(point.runs.size()) == sweep.repeats ? "completed" : "incomplete";
}

Event point_event(const Sweep& sweep, const SweepPoint& point, const std::optional<SweepNumbers>& numbers) {
  Event event = {{"status", status_of(sweep, point)}, {"replicas", point.replicas}};
  if (point.per_replica_batch) event["per_replica_batch"] = *point.per_replica_batch;
  event["global_batch"] = point.global_batch;
  if (numbers) {
    event["examples_per_second"] = numbers->examples_per_second;
    event["examples_per_second_lowest"] = numbers->lowest;
    event["examples_per_second_highest"] = numbers->highest;
    event["step_ms"] = numbers->step_ms;
    event["phases_ms"] = step_times_json(numbers->phases_ms);
    event["reference_replicas"] = numbers->reference_replicas;
    event["speedup"] = numbers->speedup;
    event["scaling_efficiency"] = numbers->scaling_efficiency;
  }
  if (!point.error.empty()) {
    event["exit_code"] = static_cast<int>(point.exit_code);
    event["error"] = point.error;
  }
  event["runs"] = Event::array();
  for (const SweepRun& run : point.runs) {
    event["runs"].push_back({{"directory", run.directory},
                             {"examples_per_second", run.examples_per_second},
                             {"step_ms", run.step_ms},
                             {"phases_ms", step_times_json(run.phases_ms)}});
  }
  return event;
}

// What is missing is left as it is in an empty Sweep. A value of another type is an exception.
SweepPoint sweep_point_from(const Event& event) {
  SweepPoint point;
  point.replicas = event.value("replicas", point.replicas);
  if (event.contains("per_replica_batch"))
    point.per_replica_batch = event["per_replica_batch"].get<int64_t>();
  point.global_batch = event.value("global_batch", point.global_batch);
  point.error = event.value("error", "");
  point.exit_code = static_cast<ExitCode>(event.value("exit_code", 0));
  for (const Event& run : event.value("runs", Event::array())) {
    SweepRun& made = point.runs.emplace_back(SweepRun{
        run.value("directory", ""), run.value("examples_per_second", 0.0), run.value("step_ms", 0.0), {}});
    const Event phases = run.value("phases_ms", Event::object());
    for (size_t i = 0; i < kStepTimes; ++i)
      made.phases_ms.values[i] = phases.value(step_time_name(static_cast<StepTime>(i)), 0.0);
  }
  return point;
}

Sweep sweep_from(const Event& document) {
  Sweep sweep;
  sweep.name = document.value("name", "");
  sweep.directory = document.value("directory", "");
  sweep.strong = document.value("mode", "") == "strong";
  sweep.strategy = document.value("strategy", "");
  sweep.communication = document.value("communication", "");
  sweep.dataset = document.value("dataset", "");
  if (document.contains("dataset_requested"))
    sweep.dataset_requested = document["dataset_requested"].get<std::string>();
  sweep.parameters = document.value("parameters", sweep.parameters);
  sweep.dtype = document.value("dtype", "");
  sweep.threads_per_replica = document.value("threads_per_replica", sweep.threads_per_replica);
  sweep.cores = document.value("cores", sweep.cores);
  sweep.repeats = document.value("repeats", sweep.repeats);
  sweep.steps = document.value("steps", sweep.steps);
  sweep.skipped_steps = document.value("skipped_steps", sweep.skipped_steps);
  for (const Event& point : document.value("points", Event::array()))
    sweep.points.push_back(sweep_point_from(point));
  return sweep;
}

}  // namespace

std::vector<std::optional<SweepNumbers>> sweep_numbers(const Sweep& sweep) {
  std::vector<std::optional<SweepNumbers>> all;
  for (const SweepPoint& point : sweep.points) {
    const bool measured = point.error.empty() && !point.runs.empty();
    all.push_back(measured ? std::optional(numbers_of(point)) : std::nullopt);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) continue;
    size_t reference = i;
    for (size_t other = 0; other < all.size(); ++other) {
      if (all[other] && kept_batch(sweep, sweep.points[other]) == kept_batch(sweep, sweep.points[i]) &&
          sweep.points[other].replicas < sweep.points[reference].replicas)
        reference = other;
    }
    SweepNumbers& numbers = *all[i];
    numbers.reference_replicas = sweep.points[reference].replicas;
    numbers.speedup = numbers.examples_per_second / all[reference]->examples_per_second;
    numbers.scaling_efficiency = numbers.speedup * static_cast<double>(numbers.reference_replicas) /
                                 static_cast<double>(sweep.points[i].replicas);
  }
  return all;
}

int64_t kept_batch(const Sweep& sweep, const SweepPoint& point) {
  return sweep.strong ? point.global_batch : point.per_replica_batch.value_or(0);
}

std::string kept_batch_name(const Sweep& sweep) { return sweep.strong ? "global" : "per replica"; }

Event sweep_document(const Sweep& sweep) {
  Event document = {{"name", sweep.name},           {"time", utc_time()},
                    {"directory", sweep.directory}, {"mode", sweep.strong ? "strong" : "weak"},
                    {"strategy", sweep.strategy},   {"communication", sweep.communication},
                    {"dataset", sweep.dataset}};
  if (sweep.dataset_requested) document["dataset_requested"] = *sweep.dataset_requested;
  if (sweep.parameters > 0) document["parameters"] = sweep.parameters;
  document["dtype"] = sweep.dtype;
  document["threads_per_replica"] = sweep.threads_per_replica;
  document["cores"] = sweep.cores;
  document["repeats"] = sweep.repeats;
  document["steps"] = sweep.steps;
  document["skipped_steps"] = sweep.skipped_steps;
  document["dtrain"] = kVersion;
  document["points"] = Event::array();
  const auto numbers = sweep_numbers(sweep);
  for (size_t i = 0; i < sweep.points.size(); ++i)
    document["points"].push_back(point_event(sweep, sweep.points[i], numbers[i]));
  return document;
}

Sweep read_sweep(const std::filesystem::path& file) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const std::string text = read_file(file, kMostBytes, ExitCode::kUsage);
  try {
    return sweep_from(Event::parse(text));
  } catch (const Event::exception&) {
    throw Error(ExitCode::kUsage, "{} is damaged; repeat the sweep", file.string());
  }
}

}  // namespace dtrain
