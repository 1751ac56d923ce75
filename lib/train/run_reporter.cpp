#include "train/run_reporter.h"

#include <torch/headeronly/version.h>

#include <utility>

#include "core/clock.h"
#include "core/version.h"
#include "host/machine.h"

namespace dtrain {
namespace {

constexpr double kProgressInterval = 0.1;  // seconds

void add_rate(Event& event, const StepRate& rate) {
  if (rate.examples_per_second) event["examples_per_second"] = *rate.examples_per_second;
  if (rate.step_ms) event["step_ms"] = *rate.step_ms;
}

void add_metrics(Event& event, const MetricValues& metrics) {
  for (const auto& [name, value] : metrics) event[name] = value;
}

// Milliseconds of a mean step, by phase.
Event mean_phases(const PhaseTimes& seconds, int64_t steps) {
  Event phases = Event::object();
  for (size_t i = 0; i < kPhases; ++i)
    phases[phase_name(static_cast<Phase>(i))] = seconds.values[i] * 1e3 / static_cast<double>(steps);
  return phases;
}

// {"0": 120, "1": 80, "64-127": 1}
Event staleness_fields(const StalenessHistogram& staleness) {
  Event counts = Event::object();
  for (size_t i = 0; i < StalenessHistogram::kClasses; ++i) {
    if (const int64_t count = staleness.counts()[i]; count > 0)
      counts[StalenessHistogram::name_of(i)] = count;
  }
  return {{"updates", counts}, {"mean", staleness.mean()}, {"maximum", staleness.maximum()}};
}

// Less than half as fast as the median worker.
bool is_straggler(const WorkerRecord& worker, const std::vector<WorkerRecord>& all) {
  std::vector<double> rates;
  for (const WorkerRecord& each : all) rates.push_back(each.updates_per_second());
  return worker.updates_per_second() < *median(rates) / 2;
}

// What each worker did; the rate of the run is that of all of them together.
void add_workers(Event& end, const WorkersReport& report) {
  double rate = 0;
  Event workers = Event::array();
  for (const WorkerRecord& worker : report.workers) {
    Event fields = {{"updates", worker.updates},
                    {"examples", worker.examples},
                    {"updates_per_second", worker.updates_per_second()}};
    if (is_straggler(worker, report.workers)) fields["straggler"] = true;
    if (worker.lost) fields["lost"] = true;
    if (worker.returns > 0) fields["returns"] = worker.returns;
    workers.push_back(fields);
    if (worker.updates > 0)
      rate += worker.updates_per_second() * static_cast<double>(worker.examples) /
              static_cast<double>(worker.updates);
  }
  if (rate > 0) end["examples_per_second"] = rate;
  end["staleness"] = staleness_fields(report.staleness);
  end["workers"] = workers;
}

std::vector<std::string> device_names(const JobPlan& job, int64_t replicas) {
  std::vector<std::string> names;
  for (int replica = 0; replica < replicas; ++replica) names.push_back(job.device_of(replica));
  return names;
}

}  // namespace

void SentSteps::add(const Traffic& step) {
  ++steps;
  bytes += step;
}

void SentSteps::write(Event& line) const {
  if (bytes.sent == 0 && bytes.received == 0) return;
  line["bytes_sent"] = bytes.sent / steps;
  line["bytes_received"] = bytes.received / steps;
}

RunReporter::RunReporter(const JobPlan& job, const RunPlan& run, EventSink& sink,
                         std::function<Traffic()> traffic, const Accelerator* accelerator,
                         std::shared_ptr<const LossScale> loss_scale)
    : job_(job),
      run_(run),
      sink_(sink),
      accelerator_(accelerator),
      traffic_(std::move(traffic)),
      loss_scale_(std::move(loss_scale)),
      run_timer_(job.spec.metrics.skip_steps) {}

void RunReporter::on_run_start(int64_t step) {
  started_ = window_started_ = steady_seconds();
  const DatasetInfo& data = job_.data;
  Event start = event("run_start");
  start["name"] = job_.spec.name;
  start["strategy"] = run_.strategy;
  start["replicas"] = run_.replicas;
  start["devices"] = device_names(job_, run_.replicas);
  if (run_.is_asynchronous()) {
    start["servers"] = run_.servers;
    if (job_.spec.strategy.max_staleness) start["max_staleness"] = *job_.spec.strategy.max_staleness;
  }
  start["threads_per_replica"] = run_.threads_per_replica;
  start["global_batch"] = run_.batch.global;
  start["per_replica_batch"] = run_.batch.per_replica;
  start["accumulate_steps"] = run_.batch.accumulate_steps;
  const LearningRate& learning_rate = run_.phases.front().learning_rate;
  start["learning_rate"] = learning_rate.scaled;
  start["learning_rate_derivation"] = learning_rate.derivation;
  start["warmup_steps"] = learning_rate.warmup_steps;
  start["steps_per_epoch"] = run_.steps_per_epoch;
  start["epochs"] = run_.epochs;
  start["total_steps"] = run_.total_steps;
  if (step > 0) start["resumed_step"] = step;
  start["train_examples"] = data.train_examples;
  start["test_examples"] = data.test_examples;
  start["dataset"] = data.name;
  start["dataset_source"] = data.source;
  if (data.is_fallback()) start["dataset_requested"] = data.requested;
  start["parameters"] = job_.model.parameters();
  start["dtype"] = job_.spec.model.dtype;
  start["precision"] = job_.spec.train.precision;
  start["seed"] = job_.spec.seed;
  start["host"] = own_host_name();
  start["processor"] = processor_name();
  start["skipped_steps"] = job_.spec.metrics.skip_steps;
  start["dtrain"] = kVersion;
  start["libtorch"] = TORCH_VERSION;
  sink_.on_event(start);
  if (job_.communication == "gloo" && run_.replicas > 1 && job_.devices.front() != "cpu") {
    on_warning(
        "replicas share a GPU, which NCCL does not support: they exchange gradients through the host's "
        "memory, by gloo, and none is recorded; for tests, not for speed");
  }
}

void RunReporter::on_warning(const std::string& text) {
  Event warning = event("warning");
  warning["text"] = text;
  sink_.on_event(warning);
}

void RunReporter::on_step(int64_t epoch, int64_t step, const PhaseTimes& seconds, int64_t examples) {
  const Traffic before = std::exchange(traffic_so_far_, traffic_());
  for (SentSteps* sent : {&window_sent_, &epoch_sent_, &run_sent_}) sent->add(traffic_so_far_ - before);
  run_timer_.add(seconds.total(), examples);
  epoch_steps_.add(seconds.total(), examples);
  if (step == job_.spec.metrics.skip_steps + 1) {  // as in run_timer_: the steps so far were warm-up
    phase_seconds_ = PhaseTimes();
    phase_steps_ = 0;
  }
  phase_seconds_.add(seconds);
  ++phase_steps_;
  const double now = steady_seconds();
  if (now - progress_sent_ < kProgressInterval) return;
  progress_sent_ = now;
  Event progress = event("progress");
  progress["epoch"] = epoch;
  progress["step"] = step;
  sink_.on_event(progress);
}

void RunReporter::on_window(int64_t epoch, int64_t step, double learning_rate, const MetricSums& window) {
  Event line = event("step");
  line["epoch"] = epoch;
  line["step"] = step;
  add_metrics(line, window.metrics());
  line["learning_rate"] = learning_rate;
  const double now = steady_seconds();
  if (loss_scale_) line["loss_scale"] = loss_scale_->value();
  if (loss_scale_) line["skipped_updates"] = loss_scale_->skipped();
  add_rates(line, run_timer_.end_window(), window.examples(), now - window_started_);
  window_started_ = now;
  std::exchange(window_sent_, SentSteps()).write(line);
  sink_.on_event(line);
}

void RunReporter::on_epoch(int64_t epoch, int64_t steps, double seconds, double learning_rate,
                           const MetricSums& sums) {
  epoch_seconds_.push_back(seconds);
  Event line = event("epoch");
  line["epoch"] = epoch;
  line["steps"] = steps;
  line["examples"] = sums.examples();
  line["seconds"] = seconds;
  add_metrics(line, sums.metrics());
  line["learning_rate"] = learning_rate;
  add_rates(line, epoch_steps_.rate(), sums.examples(), seconds);
  add_device(line);
  epoch_steps_ = SampledSteps();
  std::exchange(epoch_sent_, SentSteps()).write(line);
  sink_.on_event(line);
}

void RunReporter::on_evaluation(int64_t epoch, int64_t step, double seconds, const MetricSums& sums) {
  evaluated_ = sums.metrics();
  Event line = event("eval");
  line["epoch"] = epoch;
  line["step"] = step;
  add_metrics(line, evaluated_);
  line["examples"] = sums.examples();
  line["seconds"] = seconds;
  sink_.on_event(line);
  window_started_ = steady_seconds();
}

void RunReporter::add_device(Event& line) const {
  if (accelerator_ == nullptr) return;
  const DeviceMemory memory = accelerator_->memory();
  line["device_memory_bytes"] = memory.peak;
  line["device_memory_total_bytes"] = memory.total;
  if (const auto utilisation = accelerator_->utilisation()) line["device_utilisation"] = *utilisation;
}

void RunReporter::add_rates(Event& line, const StepRate& timed, int64_t examples, double seconds) const {
  add_rate(line, timed);
  if (run_.is_asynchronous() && seconds > 0)
    line["examples_per_second"] = static_cast<double>(examples) / seconds;
}

void RunReporter::on_run_end(int64_t epochs, int64_t steps, const std::optional<WorkersReport>& workers) {
  const StepRate rate = run_timer_.run();
  Event end = event("run_end");
  end["status"] = "completed";
  end["exit_code"] = 0;
  end["epochs"] = epochs;
  end["steps"] = steps;
  end["seconds"] = steady_seconds() - started_;
  if (const auto seconds = median(epoch_seconds_)) end["seconds_per_epoch"] = *seconds;
  add_rate(end, rate);
  if (workers) add_workers(end, *workers);
  run_sent_.write(end);
  add_device(end);
  end["skipped_steps"] = rate.skipped;
  if (loss_scale_) end["skipped_updates"] = loss_scale_->skipped();
  if (phase_steps_ > 0) end["phases_ms"] = mean_phases(phase_seconds_, phase_steps_);
  add_metrics(end, evaluated_);
  sink_.on_event(end);
}

}  // namespace dtrain
