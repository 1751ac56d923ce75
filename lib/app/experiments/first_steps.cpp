#include "experiments/first_steps.h"

#include <c10/util/ScopeExit.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <utility>

#include "core/clock.h"
#include "core/files.h"
#include "core/text.h"
#include "experiments/child_run.h"
#include "host/host_memory.h"
#include "job_file/print.h"
#include "loader/batch_plan.h"
#include "metrics/events.h"
#include "plan/memory_estimate.h"
#include "plan/own_program.h"
#include "spec/optimizer_kinds.h"
#include "spec/schedule_kinds.h"

namespace dtrain {
namespace {

constexpr int64_t kMostEpochs = 1'000'000;  // the number of steps ends the run

// `memory`: the limit of what the process has for itself, in bytes.
std::unique_ptr<ChildRun> start(const JobSpec& job, const std::filesystem::path& folder,
                                std::optional<int64_t> memory) {
  const std::filesystem::path spec = folder / "job.yaml", run = folder / "run";
  JobSpec written = job;
  if (written.model.has_file()) written.model.file = program_file(written.model);
  write_file_atomically(spec, print_spec(written));
  rlimit before{};
  ::getrlimit(RLIMIT_DATA, &before);
  rlimit inherited = before;
  if (memory) inherited.rlim_cur = std::min(before.rlim_cur, static_cast<rlim_t>(*memory));
  ::setrlimit(RLIMIT_DATA, &inherited);
  const auto end = c10::make_scope_exit([&before] { ::setrlimit(RLIMIT_DATA, &before); });
  return std::make_unique<ChildRun>(std::vector<std::string>{spec.string(), "--run-dir", run.string()}, run,
                                    folder / "run.log");
}

// The job with `steps` steps, each reported; nothing is compared, saved, or evaluated before the end. Model,
// data, batch, optimizer and strategy stay.
JobSpec first_steps(JobSpec job, int64_t steps) {
  job.train.max_steps = steps;
  if (job.phases.empty()) {
    job.train.epochs = kMostEpochs;
  } else {
    job.phases.resize(1);
    job.phases.front().epochs.reset();
    job.phases.front().steps = steps;
  }
  job.compare.baseline = "none";
  job.evaluate.every_epochs = kMostEpochs;
  job.checkpoint = {};
  job.checkpoint.final = false;
  job.restarts.max = 0;
  job.callbacks = {};
  job.metrics = {};
  job.metrics.every_steps = 1;
  job.metrics.skip_steps = 0;
  return job;
}

using OnStep = std::function<bool(double loss)>;

// A function that calls `on_step` for each step that the run in `folder` has written since the last call,
// with its training loss (NaN if that is not finite), until it returns true, and returns whether it did.
std::function<bool()> asked_of_steps(const std::filesystem::path& folder, const OnStep& on_step) {
  return [metrics = folder / "run" / "metrics.jsonl", on_step, read = std::streamoff{0}]() mutable {
    std::ifstream file(metrics);
    file.seekg(read);
    for (std::string line; std::getline(file, line) && !file.eof();) {  // not the one that is being written
      read += static_cast<std::streamoff>(line.size() + 1);
      const auto step = decode<StepEvent>(Event::parse(line, nullptr, /*allow_exceptions=*/false));
      if (step && on_step(find_metric(step->metrics, "loss").value_or(std::nan("")))) return true;
    }
    return false;
  };
}

// Trains `job` in `folder`, which is empty, until `on_step` says that it is over or the run ends. With
// `memory`, none of its processes may have more bytes of its own than that (RLIMIT_DATA). Returns how the run
// ended: kDone also if it was over before, kStopped after a stop signal.
ChildRunEnd train_first_steps(const JobSpec& job, const std::filesystem::path& folder, const OnStep& on_step,
                              std::optional<int64_t> memory = {}) {
  return run_until([&] { return start(job, folder, memory); }, asked_of_steps(folder, on_step));
}

// As many steps of the job as the test has, each with its own rate.
JobSpec rate_test_job(const JobSpec& job, const RateTest& test) {
  JobSpec tested = first_steps(job, test.steps);
  tested.train.learning_rate_scaling.warmup_steps = 0;
  PiecewiseFields rates{.unit = "steps", .values = rates_of(test)};
  for (int64_t step = 1; step < test.steps; ++step) rates.boundaries.push_back(step);
  const ScheduleSpec schedule{.kind = "piecewise", .own = rates};
  if (tested.phases.empty()) {
    tested.train.schedule = schedule;
  } else {
    tested.phases.front().learning_rate.reset();
    tested.phases.front().schedule = schedule;
  }
  return tested;
}

// The second has all that steps keep from each other, such as the optimizer's memory.
constexpr int64_t kSteps = 2;

// A replica's share of an update. A micro-batch is largest if one pass covers the share.
int64_t share_of_update(const JobPlan& job) {
  const BatchPlan& batch = job.distributed_run().batch;
  return batch.global / batch.parts;
}

bool on_processor(const JobPlan& job) { return job.device_of(0) == "cpu"; }

// For each replica of this host.
int64_t memory_of_replica(const JobPlan& job) {
  const int64_t even_share = memory_for_all() / job.distributed_run().processes();
  return std::min(even_share, data_limit().value_or(even_share)) / 10 * 9;
}

class Measurement {
 public:
  Measurement(const JobPlan& job, const std::function<void(const std::string&)>& say) : job_(job), say_(say) {
    if (!on_processor(job)) return;
    // What replicas share is not among what each has for itself.
    // And the steps that are tried save no checkpoint, and no evaluation keeps memory beside theirs.
    const MemoryEstimate estimate = estimate_memory(job, job.distributed_run());
    memory_ = memory_of_replica(job) - estimate.gradients - estimate.checkpoint;
    if (estimate.keeps_both) *memory_ -= std::min(estimate.evaluation(), *memory_ / 2);
  }

  bool fits(int64_t size) {
    say_(fmt::format("trying {} a replica and pass", counted(size, "example")));
    JobSpec tried = job_.spec;
    if (!tried.phases.empty())
      std::swap(tried.phases.front(), tried.phases[largest_phase(job_, job_.distributed_run())]);
    tried = first_steps(std::move(tried), kSteps);
    tried.batch.per_replica = size;
    const ScratchFolder folder("dtrain-fit");
    int64_t steps = 0;
    const auto is_over = [&steps](double) { return ++steps == kSteps; };
    last_ = train_first_steps(tried, folder.path(), is_over, memory_);
    // A learning rate that is too large for this batch is not what is asked.
    if (last_.code == ExitCode::kDone || last_.code == ExitCode::kDiverged) return true;
    const bool crashed = memory_ && last_.code == ExitCode::kBug;  // oneDNN, where it gets no memory
    if (last_.code != ExitCode::kMemory && !crashed) refuse("");
    return false;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(last_.code, "measuring batch.per_replica: auto: " + why + last_.reason);
  }

 private:
  const JobPlan& job_;
  const std::function<void(const std::string&)>& say_;
  std::optional<int64_t> memory_;  // nullopt: the device's own
  ChildRunEnd last_;
};

}  // namespace

RateTest rate_test_of(const JobSpec& job, RateTest options) {
  const OptimizerSpec& optimizer = job.train.optimizer;
  std::string why;
  if (!job.train.optimizers.empty() || optimizer_kind(optimizer.kind).takes_whole)
    why = fmt::format("find-lr tests one rate, and this job has several ({})",
                      job.train.optimizers.empty() ? optimizer.kind : "train.optimizers");
  else if (optimizer.kind == "lars")
    why = "find-lr proposes no rate for lars: the biases, which have no ratio, decide its test";
  if (!why.empty())
    throw Error(ExitCode::kUsage,
                "{}; compare some: dtrain tune JOB.yaml --try train.optimizer.learning_rate={:g},{:g},{:g}",
                why, optimizer.learning_rate / 2, optimizer.learning_rate, optimizer.learning_rate * 2);
  options.name = job.name;
  const std::string section = job.phases.empty() ? "train" : "phases[0]";
  const ScheduleSpec& schedule = job.phases.empty() ? job.train.schedule : job.phases.front().schedule;
  if (schedule_uses(schedule.kind, "values")) {
    options.field = section + ".schedule.values";
  } else if (!job.phases.empty() && job.phases.front().learning_rate) {
    options.field = section + ".learning_rate";
  }
  return options;
}

void run_rate_test(const JobSpec& job, const std::filesystem::path& folder, RateTest& test) {
  bool over = false;
  const ChildRunEnd end = train_first_steps(rate_test_job(job, test), folder, [&](double loss) {
    over = add_loss(test, loss);
    return over;
  });
  if (over || end.code == ExitCode::kStopped) return;
  if (end.code == ExitCode::kDiverged && !test.points.empty()) {
    add_loss(test, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (end.code == ExitCode::kDone) throw Error(ExitCode::kBug, "the run ended before its last step");
  throw Error(end.code, end.reason);
}

std::filesystem::path run_steps(const JobSpec& job, int64_t every, int64_t steps,
                                std::optional<double> seconds, const std::filesystem::path& folder) {
  JobSpec measured = first_steps(job, steps);
  measured.data.test_examples = 1;  // a run evaluates at its end
  measured.data.split.validation = std::nullopt;
  measured.data.split.folds = std::nullopt;
  measured.data.split.fold = 1;
  measured.metrics.every_steps = every;
  measured.metrics.skip_steps = job.metrics.skip_steps;
  int64_t made = 0;
  const auto are_timed =
      asked_of_steps(folder, [&](double) { return (made += every) > job.metrics.skip_steps; });
  std::optional<double> end;  // nullopt: no step has been timed
  const auto is_over = [&] {
    if (seconds && !end && are_timed()) end = steady_seconds() + *seconds;
    return end && steady_seconds() > *end;
  };
  const ChildRunEnd how = run_until([&] { return start(measured, folder, std::nullopt); }, is_over);
  if (how.code != ExitCode::kDone) throw Error(how.code, how.reason);
  return folder / "run";
}

int64_t estimated_fit(const JobPlan& job) {
  const int64_t share = share_of_update(job);
  if (!on_processor(job)) return share;
  const MemoryEstimate estimate = estimate_memory(job, job.distributed_run());
  const int64_t fit = largest_batch(estimate, memory_of_replica(job), estimate.fixed());
  return share / fewest_passes(share, std::clamp<int64_t>(fit, 1, share));
}

int64_t measured_fit(const JobPlan& job, const std::function<void(const std::string&)>& say) {
  Measurement measurement(job, say);
  const int64_t share = share_of_update(job);
  std::vector<int64_t> sizes;  // that divide the share into equal passes, from the largest to 1
  for (int64_t passes = 1; passes <= share; ++passes) {
    if (share % passes == 0) sizes.push_back(share / passes);
  }
  auto at = std::ranges::find(sizes, estimated_fit(job));
  if (measurement.fits(*at)) {
    while (at != sizes.begin() && measurement.fits(*(at - 1))) --at;
    return *at;
  }
  for (++at; at != sizes.end(); ++at) {
    if (measurement.fits(*at)) return *at;
  }
  measurement.refuse("not even one example fits: ");
}

}  // namespace dtrain
