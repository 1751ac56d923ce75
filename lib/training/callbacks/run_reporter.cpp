#include "callbacks/run_reporter.h"

#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "callbacks/callbacks.h"
#include "core/clock.h"
#include "core/version.h"
#include "host/machine.h"
#include "kernels/products.h"
#include "plan/planned_step.h"
#include "spec/schedule_kinds.h"

namespace dtrain {
namespace {

constexpr double kNoticeablyWorse = 1.01;  // times the loss at the beginning
constexpr double kSurelyWorse = 2;         // times the loss of the first step, which is of few examples
constexpr double kWorseThanGuesses = 5;    // times the loss of guesses
constexpr int64_t kFewestExamples = 16;    // of the first step
constexpr double kProgressInterval = 0.1;  // seconds
constexpr double kCoresInterval = 1;       // seconds
constexpr double kDeviceInterval = 0.2;    // seconds: the driver takes its time, and an epoch may be shorter

StepSpeed speed_of(const StepRate& rate) { return {rate.examples_per_second, rate.step_ms}; }

StalenessSummary summary_of(const StalenessHistogram& staleness) {
  StalenessSummary summary;
  NamedCounts& updates = summary.updates.emplace();
  for (size_t i = 0; i < StalenessHistogram::kClasses; ++i) {
    if (const int64_t count = staleness.counts()[i]; count > 0)
      updates.emplace_back(StalenessHistogram::name_of(i), count);
  }
  summary.mean = staleness.mean();
  summary.maximum = staleness.maximum();
  return summary;
}

WorkerSummary summary_of(const WorkerRecord& worker, const std::vector<WorkerRecord>& all) {
  WorkerSummary summary;
  summary.updates = worker.updates;
  summary.examples = worker.examples;
  summary.updates_per_second = worker.updates_per_second();
  std::vector<double> rates;
  for (const WorkerRecord& each : all) rates.push_back(each.updates_per_second());
  if (worker.updates_per_second() < *median(rates) / 2) summary.straggler = true;
  if (worker.lost) summary.lost = true;
  if (worker.returns > 0) summary.returns = worker.returns;
  return summary;
}

// What each worker did; the rate of the run is that of all of them together.
void add_workers(RunEndEvent& end, const WorkersReport& report) {
  double rate = 0;
  end.workers.emplace();
  for (const WorkerRecord& worker : report.workers) {
    end.workers->push_back(summary_of(worker, report.workers));
    if (worker.updates > 0)
      rate += worker.updates_per_second() * static_cast<double>(worker.examples) /
              static_cast<double>(worker.updates);
  }
  if (rate > 0) end.speed.examples_per_second = rate;
  end.staleness = summary_of(report.staleness);
}

constexpr double kMuchSlower = 2;
constexpr double kMuchWaiting = 0.2;      // of the time
constexpr double kFromTheBeginning = 10;  // seconds

constexpr const char* kAdvice =
    "end other programs there, or leave them a core (strategy.threads_per_replica, strategy.replicas)";

}  // namespace

StepTraffic SentSteps::mean() const {
  if (bytes.sent == 0 && bytes.received == 0) return {};
  return {bytes.sent / steps, bytes.received / steps};
}

RunReporter::RunReporter(const JobPlan& job, const RunPlan& run, EventSink& sink,
                         std::function<Traffic()> traffic, const Accelerator* accelerator,
                         std::shared_ptr<const LossScale> loss_scale, Links links)
    : job_(job),
      run_(run),
      sink_(sink),
      accelerator_(accelerator),
      traffic_(std::move(traffic)),
      links_(std::move(links)),
      loss_scale_(std::move(loss_scale)),
      run_timer_(job.spec.metrics.skip_steps) {}

void RunReporter::on_run_start(int64_t step) {
  started_ = window_started_ = steady_seconds();
  const DatasetInfo& data = job_.data;
  auto start = begin_event<RunStartEvent>(run_.name());
  start.name = job_.spec.name;
  start.strategy = run_.strategy;
  start.replicas = run_.replicas;
  if (run_.virtual_replicas > 0) start.virtual_replicas = run_.virtual_replicas;
  std::vector<std::string>& devices = start.devices.emplace();
  for (int replica = 0; replica < run_.replicas; ++replica) devices.push_back(job_.device_of(replica));
  if (job_.spans_hosts && run_.traits().spans_hosts) start.spans_hosts = true;
  if (run_.is_asynchronous()) {
    start.servers = run_.servers;
    start.max_staleness = job_.spec.strategy.max_staleness;
  }
  start.threads_per_replica = run_.threads_per_replica;
  start.global_batch = run_.batch.global;
  start.per_replica_batch = run_.batch.per_replica;
  start.accumulate_steps = run_.batch.accumulate_steps;
  const LearningRate& learning_rate = run_.phases.front().learning_rate;
  start.learning_rate = learning_rate.scaled;
  start.learning_rate_derivation = learning_rate.derivation;
  start.warmup_steps = learning_rate.warmup_steps;
  if (!run_.phases.front().name.empty()) start.phases = std::ssize(run_.phases);
  start.steps_per_epoch = run_.steps_per_epoch;
  start.epochs = run_.epochs;
  start.total_steps = run_.total_steps;
  resumed_ = step > 0;
  if (resumed_) start.resumed_step = step;
  start.train_examples = data.train_examples;
  if (data.has_validation()) start.validation_examples = data.validation_examples;
  start.test_examples = data.test_examples;
  if (job_.spec.data.on_bad_example == "skip") start.bad_examples = data.bad.count;
  start.dataset = data.name;
  start.dataset_source = data.source;
  if (data.is_fallback()) start.dataset_requested = data.requested;
  if (!job_.fallback.empty()) start.strategy_fallback = job_.fallback;
  start.parameters = job_.model.parameters();
  start.weights = weights_;
  start.weights_sha256 = weights_sha256_;
  start.dtype = job_.spec.model.dtype;
  start.precision = job_.spec.train.precision;
  const PlannedStep step_plan = planned_step(job_, run_);
  start.execution = step_plan.execution;
  if (!step_plan.reason.empty()) start.execution_reason = step_plan.reason;
  if (job_.device_of(0) == "cpu") start.products = products_in_use();
  start.seed = job_.spec.seed;
  start.host = own_host_name();
  start.processor = processor_name();
  start.skipped_steps = job_.spec.metrics.skip_steps;
  start.dtrain = kVersion;
  start.libtorch = TORCH_VERSION;
  sink_.on_event(encode(start));
  if (job_.communication == "gloo" && run_.replicas > 1 && job_.devices.front() != "cpu") {
    on_warning(
        "replicas share a GPU, which NCCL does not support: they exchange gradients through the host's "
        "memory, by gloo, and none is recorded; for tests, not for speed");
  }
}

void RunReporter::on_phase(int64_t step, const PhasePlan& phase, double seconds) {
  // The run's figures are those of its last phase: steps that train different layers have no common median.
  if (run_.phases.size() > 1 && !run_.is_asynchronous()) {
    phase_ = phase.index + 1;
    epoch_is_mixed_ = step % run_.steps_per_epoch != 0;
    run_timer_ = StepTimer(job_.spec.metrics.skip_steps);
    timed_steps_ = 0;
    run_times_ = MeanStepTimes();
    run_sent_ = SentSteps();
    epoch_seconds_.clear();
    slow_steps_.begin();
  }
  auto event = begin_event<PhaseEvent>(run_.name());
  event.phase = phase.index + 1;
  event.phases = std::ssize(run_.phases);
  event.name = phase.name;
  event.step = step;
  event.learning_rate = phase.learning_rate.scaled;
  event.learning_rate_derivation = phase.learning_rate.derivation;
  event.trained_parameters = phase.parameters;
  event.parameters = job_.model.parameters();
  event.gradient_bytes = job_.bytes_per_all_reduce(phase);
  const PlannedStep step_plan = planned_step(job_, run_, phase);
  event.execution = step_plan.execution;
  if (!step_plan.reason.empty()) event.execution_reason = step_plan.reason;
  if (phase.features.layers > 0) {
    event.feature_bytes = phase.features.bytes;
    event.feature_seconds = seconds;
  }
  sink_.on_event(encode(event));
}

void RunReporter::on_warning(const std::string& text) { sink_.on_event(warning_event(run_.name(), text)); }

void RunReporter::on_step(int64_t epoch, int64_t step, const StepTimes& seconds, int64_t examples,
                          bool made) {
  const Traffic before = std::exchange(traffic_so_far_, traffic_());
  for (SentSteps* sent : {&window_sent_, &epoch_sent_, &run_sent_}) sent->add(traffic_so_far_ - before);
  if (made) {
    time_step(seconds, examples);
  } else {
    untimed_.add(seconds);
    untimed_examples_.push_back(examples);
  }
  const double now = steady_seconds();
  if (now - progress_sent_ < kProgressInterval) return;
  progress_sent_ = now;
  auto progress = begin_event<ProgressEvent>(run_.name());
  progress.epoch = epoch;
  progress.step = step;
  sink_.on_event(encode(progress));
}

void RunReporter::on_steps_made(const StepTimes& waiting) {
  StepTimes mean = std::exchange(untimed_, StepTimes());
  if (untimed_examples_.empty()) return;
  mean.add(waiting);
  for (double& seconds : mean.values) seconds /= static_cast<double>(untimed_examples_.size());
  for (const int64_t examples : std::exchange(untimed_examples_, {})) time_step(mean, examples);
}

bool RunReporter::ends_warm_up() const {
  const int64_t untimed = std::ssize(untimed_examples_);
  return untimed > 0 && timed_steps_ + untimed == job_.spec.metrics.skip_steps;
}

void RunReporter::time_step(const StepTimes& seconds, int64_t examples) {
  run_timer_.add(seconds.total(), examples);
  epoch_steps_.add(seconds.total(), examples);
  // As in run_timer_: the steps before were warm-up.
  if (++timed_steps_ == job_.spec.metrics.skip_steps + 1) run_times_ = MeanStepTimes();
  run_times_.add(seconds);
  epoch_times_.add(seconds);
}

void RunReporter::on_window(int64_t epoch, int64_t step, double learning_rate, const MetricSums& window) {
  auto line = begin_event<StepEvent>(run_.name());
  line.epoch = epoch;
  line.step = step;
  line.metrics = window.metrics();
  if (!first_loss_ && !resumed_) first_loss_ = window.loss();
  line.learning_rate = learning_rate;
  line.gradient_norm = std::exchange(gradient_norm_, std::nullopt);
  const double now = steady_seconds();
  if (loss_scale_) line.loss_scale = loss_scale_->value();
  if (loss_scale_) line.skipped_updates = loss_scale_->skipped();
  line.speed = speed(run_timer_.end_window(), window.examples(), now - window_started_);
  window_started_ = now;
  line.traffic = std::exchange(window_sent_, SentSteps()).mean();
  sink_.on_event(encode(line));
  if (!line.speed.step_ms || now - looked_for_cores_ < kCoresInterval) return;
  looked_for_cores_ = now;
  const std::optional<double> without_core = seconds_without_core();
  if (!without_core) return;
  if (const auto advice = slow_steps_.look(*line.speed.step_ms, now, *without_core)) on_warning(*advice);
}

void RunReporter::on_epoch(int64_t epoch, int64_t steps, double seconds, double learning_rate,
                           const MetricSums& sums, std::optional<double> noise_scale) {
  const bool whole = steps >= run_.steps_per_epoch;  // not cut by train.max_steps
  if (!std::exchange(epoch_is_mixed_, false) && whole) epoch_seconds_.push_back(seconds);
  last_loss_ = sums.loss();
  auto line = begin_event<EpochEvent>(run_.name());
  line.epoch = epoch;
  line.steps = steps;
  line.examples = sums.examples();
  line.seconds = seconds;
  line.metrics = sums.metrics();
  line.learning_rate = learning_rate;
  line.noise_scale = noise_scale;
  noise_scale_ = noise_scale;
  line.speed = speed(epoch_steps_.rate(), sums.examples(), seconds);
  line.phases_ms = std::exchange(epoch_times_, MeanStepTimes()).milliseconds();
  line.device = device_use(kDeviceInterval);
  epoch_steps_ = SampledSteps();
  line.traffic = std::exchange(epoch_sent_, SentSteps()).mean();
  sink_.on_event(encode(line));
}

void RunReporter::on_evaluation(int64_t epoch, int64_t step, double seconds, const MetricSums& sums,
                                bool final_test) {
  evaluated_ = sums.metrics();
  if (final_test) {
    part_ = kTestPart;
  } else if (job_.data.has_validation()) {
    part_ = kValidationPart;
    validation_ = ValidationSummary{evaluated_};
  }
  auto line = begin_event<EvalEvent>(run_.name());
  line.part = part_;
  line.epoch = epoch;
  line.step = step;
  line.metrics = evaluated_;
  line.examples = sums.examples();
  line.seconds = seconds;
  sink_.on_event(encode(line));
  window_started_ = steady_seconds();
}

DeviceUse RunReporter::device_use(double oldest) {
  const double now = steady_seconds();
  if (accelerator_ == nullptr || now - device_asked_ < oldest) return device_use_;
  device_asked_ = now;
  const DeviceMemory memory = accelerator_->memory();
  return device_use_ = {memory.peak, memory.total, accelerator_->utilisation()};
}

StepSpeed RunReporter::speed(const StepRate& timed, int64_t examples, double seconds) const {
  StepSpeed speed = speed_of(timed);
  if (run_.is_asynchronous() && seconds > 0)
    speed.examples_per_second = static_cast<double>(examples) / seconds;
  return speed;
}

void RunReporter::on_best(const std::map<std::string, double>& metrics) {
  std::erase_if(evaluated_, [&](const auto& metric) { return !metrics.contains(metric.first); });
  for (auto& [name, value] : evaluated_) value = metrics.at(name);
  if (validation_) validation_->metrics = evaluated_;
}

void RunReporter::on_first_step(const MetricSums& own) {
  if (own.examples() >= kFewestExamples) first_step_loss_ = own.loss();
}

// Weights may be spoiled within the first window already: then its loss is not where the training began.
void RunReporter::warn_if_worse() {
  if (!run_.traits().trains) return;
  if (objective_info(job_.spec.train.loss.kind).is_step) return;  // its losses may be of adversaries
  const char* const rate = !job_.spec.phases.empty() ? "learning_rate of the phases"
                           : schedule_uses(job_.spec.train.schedule.kind, "values")
                               ? "train.schedule.values"
                               : "train.optimizer.learning_rate";
  const bool rose = last_loss_ && first_loss_ && *last_loss_ > kNoticeablyWorse * *first_loss_;
  const bool rose_at_once = last_loss_ && first_step_loss_ && *last_loss_ > kSurelyWorse * *first_step_loss_;
  if (rose || rose_at_once)
    on_warning(fmt::format(
        "the training loss rose from {:.4g} at the beginning to {:.4g} in the last epoch; a lower {} usually "
        "helps",
        rose ? *first_loss_ : *first_step_loss_, *last_loss_, rate));
  // Where even the first step may have been of spoiled weights: other workers make updates before it.
  const double guessed = std::log(static_cast<double>(std::max<int64_t>(job_.data.classes, 1)));
  const bool is_of_classes = job_.spec.train.loss.kind == "cross_entropy" && job_.data.classes > 1 &&
                             job_.spec.train.loss.class_weights.weights.empty();
  if (!rose && !rose_at_once && is_of_classes && last_loss_ && *last_loss_ > kWorseThanGuesses * guessed)
    on_warning(fmt::format(
        "the training loss of the last epoch is {:.4g}, and guessing would come to {:.4g}, the logarithm of "
        "the number of classes; a lower {} usually helps",
        *last_loss_, guessed, rate));
  const std::optional<double> r2 = find_metric(validation_ ? validation_->metrics : evaluated_, "r2");
  if (r2 && *r2 < 0)
    on_warning(fmt::format(
        "r2 of the {} examples is {:.4g}: the mean of the targets would predict them better; usually {} does "
        "not fit (dtrain find-lr looks for one), or the targets need a scale of about 1 (docs/tables.md)",
        validation_ ? kValidationPart : kTestPart, *r2, rate));
}

void RunReporter::on_run_end(int64_t epochs, int64_t steps, const std::optional<WorkersReport>& workers,
                             const std::function<NamedIntervals()>& intervals) {
  warn_if_worse();
  const StepRate rate = run_timer_.run();
  auto end = begin_event<RunEndEvent>(run_.name());
  end.status = "completed";
  end.exit_code = 0;
  end.epochs = epochs;
  end.steps = steps;
  end.seconds = steady_seconds() - started_;
  end.phase = phase_;
  end.seconds_per_epoch = median(epoch_seconds_);
  end.speed = speed_of(rate);
  if (workers) add_workers(end, *workers);
  end.traffic = run_sent_.mean();
  end.links = run_links_;
  end.device = device_use(/*oldest=*/0);
  end.skipped_steps = rate.skipped;
  if (loss_scale_) end.skipped_updates = loss_scale_->skipped();
  end.phases_ms = run_times_.milliseconds();
  end.noise_scale = noise_scale_;
  end.part = part_;
  end.metrics = evaluated_;
  end.validation = validation_;
  if (NamedIntervals found = intervals ? intervals() : NamedIntervals(); !found.empty())
    end.intervals = std::move(found);
  sink_.on_event(encode(end));
}

std::optional<std::string> SlowSteps::look(double step_ms, double seconds, double without_core) {
  const Look now{seconds, without_core};
  const double before = least_ms_.value_or(step_ms);
  least_ms_ = std::min(before, step_ms);
  if (!first_) first_ = now;
  const Look last = std::exchange(last_, now).value_or(now);
  const auto waited_much = [&](const Look& since) {
    return seconds > since.seconds &&
           without_core - since.without_core >= kMuchWaiting * (seconds - since.seconds);
  };
  if (told_) return std::nullopt;
  if (step_ms >= kMuchSlower * before && waited_much(last)) {
    told_ = true;
    return fmt::format(
        "a step takes {:.3g} ms where it took {:.3g}: threads of this replica waited {:.1f} s in the last "
        "{:.1f} s for cores that others use too; {}",
        step_ms, before, without_core - last.without_core, seconds - last.seconds, kAdvice);
  }
  if (seconds - first_->seconds >= kFromTheBeginning && waited_much(*first_)) {
    told_ = true;
    return fmt::format(
        "threads of this replica waited {:.1f} s in {:.1f} s for cores that others use too; {}",
        without_core - first_->without_core, seconds - first_->seconds, kAdvice);
  }
  return std::nullopt;
}

}  // namespace dtrain
