#include "experiments/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "core/files.h"
#include "core/signals.h"
#include "core/text.h"
#include "display/sweep.h"
#include "host/cores.h"
#include "job/job.h"
#include "job_file/print.h"
#include "metrics/events.h"
#include "metrics/show.h"

namespace dtrain {
namespace {

constexpr int64_t kEndless = 1'000'000;  // epochs; the number of steps ends a run

std::vector<int64_t> batches_of(const JobSpec& spec, const SweepOptions& options) {
  if (!options.batches.empty()) return options.batches;
  if (options.strong && spec.batch.global) return {*spec.batch.global};
  const BatchPlan smallest =
      resolve_batch(spec, spec.strategy.virtual_replicas.value_or(options.replicas.front()));
  return {options.strong ? smallest.global : smallest.per_replica};
}

SweepPoint make_point(const JobSpec& spec, int64_t replicas, int64_t batch, bool strong) {
  const int64_t parts =
      spec.strategy.virtual_replicas.value_or(replicas) * spec.batch.accumulate_steps.value_or(1);
  SweepPoint point;
  point.replicas = replicas;
  point.global_batch = strong ? batch : batch * parts;
  if (point.global_batch % parts != 0) return point;
  const int64_t share = point.global_batch / parts;
  const bool limited = strong && spec.batch.global && spec.batch.per_replica;
  point.per_replica_batch = limited ? share / fewest_passes(share, *spec.batch.per_replica) : share;
  return point;
}

// The parts of the spec that are the same at all points.
JobSpec common_spec(JobSpec spec, const SweepOptions& options) {
  StrategySpec& strategy = spec.strategy;
  if (!strategy.threads_per_replica)
    strategy.threads_per_replica = std::max<int64_t>(1, available_cores() / options.replicas.back());
  // One word does for any number of replicas; of a list, the first ones (see plan_point()).
  if (std::ranges::count(strategy.devices, strategy.devices.front()) == std::ssize(strategy.devices))
    strategy.devices.resize(1);
  spec.train.epochs = kEndless;
  if (!spec.phases.empty()) {  // the first one is timed
    spec.phases.resize(1);
    spec.phases[0].steps.reset();
    spec.phases[0].epochs = kEndless;
  }
  spec.train.max_steps = spec.metrics.skip_steps + options.steps;
  // A job always evaluates at its end, so make that as short as possible.
  spec.data.test_examples = 1;
  spec.data.split.validation = std::nullopt;
  spec.data.split.folds = std::nullopt;
  spec.data.split.fold = 1;
  spec.evaluate.every_epochs = kEndless;
  spec.compare.baseline = "none";
  spec.checkpoint = {};
  spec.checkpoint.final = false;
  spec.callbacks = {};
  spec.metrics.noise_scale = false;
  spec.receipts = {};
  return spec;
}

// Plans a point's job, or records why that is impossible. The spec is printed and parsed again, as on its way
// to the replicas, so that all bounds and rules are checked.
JobPlan plan_point(JobSpec spec, DatasetInfo data, bool strong, SweepPoint& point) {
  data.train_examples += std::exchange(data.validation_examples, 0);  // see common_spec()
  data.test_examples = std::min(data.test_examples, spec.data.test_examples.value_or(data.test_examples));
  spec.strategy.replicas = spec.strategy.workers = point.replicas;
  std::vector<std::string>& devices = spec.strategy.devices;
  devices.resize(std::min(devices.size(), static_cast<size_t>(point.replicas)));
  // With both, a strong point's passes are at most as large as the spec's.
  if (!strong || !spec.batch.global) spec.batch.per_replica = strong ? std::nullopt : point.per_replica_batch;
  spec.batch.global = strong ? std::optional(point.global_batch) : std::nullopt;
  LoadedSpec loaded = parse_spec(print_spec(spec), "sweep");
  loaded.spec.model.kept_file = spec.model.kept_file;
  PlannedJob planned = plan_job(loaded, data);
  if (!planned.ok()) {
    const Problem& problem = planned.problems.front();
    point.exit_code = ExitCode::kUsage;
    point.error = problem.path.empty() ? problem.text : problem.path + ": " + problem.text;
  }
  return std::move(planned.job);
}

// Makes one run after the other and updates the files after each.
class SweepRunner {
 public:
  SweepRunner(PlannedSweep& planned, const std::string& program, std::ostream& progress)
      : sweep_(planned.sweep),
        jobs_(planned.jobs),
        folder_(planned.sweep.directory),
        program_(program),
        progress_(progress) {}

  ExitCode run() {
    catch_stop_signals();
    const int signals_before = stop_signals_received();
    announce();
    write_files();
    for (int64_t repeat = 1; repeat <= sweep_.repeats; ++repeat) {
      for (size_t i = 0; i < sweep_.points.size(); ++i) {
        if (!sweep_.points[i].error.empty()) continue;
        make_run(sweep_.points[i], jobs_[i], repeat);
        write_files();
        if (stop_signals_received() != signals_before) return ExitCode::kStopped;
      }
    }
    const auto failed =
        std::ranges::find_if(sweep_.points, [](const SweepPoint& point) { return !point.error.empty(); });
    return failed == sweep_.points.end() ? ExitCode::kDone : failed->exit_code;
  }

 private:
  void announce() {
    size_t points = 0;
    for (const SweepPoint& point : sweep_.points) points += point.error.empty() ? 1 : 0;
    runs_ = static_cast<int64_t>(points) * sweep_.repeats;
    progress_ << fmt::format("sweep of {}, {}, in {}\n",
                             show_counted(static_cast<int64_t>(sweep_.points.size()), "point"),
                             show_counted(runs_, "run"), printable(folder_.string(), 1000))
              << std::flush;
  }

  void make_run(SweepPoint& point, const JobPlan& job, int64_t repeat) {
    const int64_t batch = kept_batch(sweep_, point);
    const std::string name = fmt::format("replicas-{}-batch-{}-run-{}", point.replicas, batch, repeat);
    progress_ << fmt::format("[{}/{}] {}, batch {} {}, run {}: ", ++run_, runs_,
                             show_counted(point.replicas, "replica"), batch, kept_batch_name(sweep_), repeat)
              << std::flush;
    OutputOptions options;
    options.directory.directory = folder_ / name;
    options.console.quiet = true;
    options.say = [this](const std::string& line) { progress_ << printable(line, 4000) << std::endl; };
    std::ostringstream unread;
    const JobResult result = supervise_job(job, options, program_, unread);
    progress_ << take(point, result, name) << std::endl;
  }

  // Adds a run to its point. Returns the text to print about it.
  std::string take(SweepPoint& point, const JobResult& result, const std::string& name) {
    if (result.code == ExitCode::kStopped) return result.message;
    const bool completed = result.code == ExitCode::kDone;
    const auto end =
        completed ? decode<RunEndEvent>(result.summary.at(name_of(RunKind::kDistributed)).at("run_end"))
                  : std::nullopt;
    if (end && end->speed.examples_per_second && end->speed.step_ms && end->phases_ms) {
      point.runs.push_back({name, *end->speed.examples_per_second, *end->speed.step_ms, *end->phases_ms});
      return fmt::format("{} examples/s, {} ms a step", show_rate(end->speed.examples_per_second),
                         show_milliseconds(end->speed.step_ms));
    }
    point.exit_code = completed ? ExitCode::kBug : result.code;
    point.error = completed ? "the run reported no step times" : result.reason;
    runs_ -= sweep_.repeats - static_cast<int64_t>(point.runs.size()) - 1;  // the point is not repeated
    return fmt::format("failed, exit code {}: {}", static_cast<int>(point.exit_code), printable(point.error));
  }

  void write_files() const {
    write_file_atomically(folder_ / "sweep.csv", sweep_csv(sweep_));
    write_file_atomically(folder_ / "sweep.json", event_text(sweep_document(sweep_), 2) + "\n");
    write_file_atomically(folder_ / "sweep.svg", sweep_chart(sweep_));
  }

  Sweep& sweep_;
  const std::vector<JobPlan>& jobs_;
  const std::filesystem::path folder_;
  const std::string& program_;
  std::ostream& progress_;
  int64_t run_ = 0;   // the number of the last run
  int64_t runs_ = 0;  // the number of runs at the end
};

}  // namespace

PlannedSweep plan_sweep(const JobSpec& spec, const DatasetInfo& data, const SweepOptions& options) {
  if (spec.strategy.virtual_replicas && !options.strong)
    throw Error(
        ExitCode::kUsage,
        "with strategy.virtual_replicas the global batch is the same with any number of replicas; use "
        "--mode strong, or --unset strategy.virtual_replicas");
  const JobSpec common = common_spec(spec, options);
  PlannedSweep planned;
  Sweep& sweep = planned.sweep;
  sweep.name = spec.name;
  sweep.strong = options.strong;
  sweep.strategy = spec.strategy.kind;
  sweep.communication = spec.strategy.communication;
  sweep.dataset = data.name;
  if (data.is_fallback()) sweep.dataset_requested = data.requested;
  sweep.dtype = spec.model.dtype;
  sweep.threads_per_replica = *common.strategy.threads_per_replica;
  sweep.cores = available_cores();
  sweep.repeats = options.repeats;
  sweep.steps = options.steps;
  sweep.skipped_steps = spec.metrics.skip_steps;
  for (const int64_t batch : batches_of(spec, options)) {
    for (const int64_t replicas : options.replicas) {
      sweep.points.push_back(make_point(spec, replicas, batch, options.strong));
      planned.jobs.push_back(plan_point(common, data, options.strong, sweep.points.back()));
      if (sweep.points.back().error.empty()) sweep.parameters = planned.jobs.back().model.parameters();
    }
  }
  return planned;
}

ExitCode run_sweep(PlannedSweep& planned, const std::string& program, std::ostream& progress) {
  return SweepRunner(planned, program, progress).run();
}

}  // namespace dtrain
