// One event of each kind with every field, and its text. Readers of metrics.jsonl depend on these names,
// their order and the types of their values.
#pragma once

#include <limits>
#include <string>

#include "metrics/events.h"

namespace dtrain::every_event {

inline constexpr const char* kTime = "2026-01-31T12:00:00.000Z";

template <class T>
T event_of(const std::string& run = "distributed") {
  T event;
  event.time = kTime;
  event.run = run;
  return event;
}

inline RunStartEvent run_start() {
  auto event = event_of<RunStartEvent>("baseline");
  event.name = "small";
  event.folder = "/runs/small";
  event.strategy = "parameter_server";
  event.strategy_fallback = "no TPU";
  event.replicas = 2;
  event.virtual_replicas = 8;
  event.devices = {"cpu", "cuda:0"};
  event.spans_hosts = true;
  event.servers = 1;
  event.max_staleness = 4;
  event.threads_per_replica = 3;
  event.global_batch = 128;
  event.per_replica_batch = 64;
  event.accumulate_steps = 1;
  event.learning_rate = 0.5;
  event.learning_rate_derivation = "0.25 x 2";
  event.warmup_steps = 7;
  event.phases = 2;
  event.steps_per_epoch = 469;
  event.epochs = 2;
  event.total_steps = 938;
  event.resumed_step = 10;
  event.train_examples = 60000;
  event.validation_examples = 6;
  event.test_examples = 10000;
  event.bad_examples = 3;
  event.dataset = "fashion_mnist";
  event.dataset_source = "data";
  event.dataset_requested = "mnist";
  event.parameters = 235146;
  event.weights = "/a/first.safetensors";
  event.weights_sha256 = "e3b0c442";
  event.dtype = "float32";
  event.precision = "bf16_mixed";
  event.execution = "eager";
  event.execution_reason = "train.precision: bf16_mixed";
  event.products = "brgemm";
  event.seed = 42;
  event.host = "here";
  event.processor = "a processor";
  event.skipped_steps = 10;
  event.dtrain = "0.1.0";
  event.libtorch = "2.11.0";
  return event;
}
inline constexpr const char* kRunStart =
    R"({"event":"run_start","time":"2026-01-31T12:00:00.000Z","run":"baseline","name":"small","folder":"/runs/small",)"
    R"("strategy":"parameter_server","strategy_fallback":"no TPU","replicas":2,"virtual_replicas":8,"devices":["cpu","cuda:0"],)"
    R"("spans_hosts":true,"servers":1,"max_staleness":4,)"
    R"("threads_per_replica":3,"global_batch":128,"per_replica_batch":64,"accumulate_steps":1,)"
    R"("learning_rate":0.5,"learning_rate_derivation":"0.25 x 2","warmup_steps":7,"phases":2,"steps_per_epoch":469,)"
    R"("epochs":2,"total_steps":938,"resumed_step":10,"train_examples":60000,"validation_examples":6,)"
    R"("test_examples":10000,"bad_examples":3,"dataset":"fashion_mnist","dataset_source":"data","dataset_requested":"mnist",)"
    R"("parameters":235146,"weights":"/a/first.safetensors","weights_sha256":"e3b0c442",)"
    R"("dtype":"float32","precision":"bf16_mixed",)"
    R"("execution":"eager","execution_reason":"train.precision: bf16_mixed","products":"brgemm",)"
    R"("seed":42,"host":"here",)"
    R"("processor":"a processor","skipped_steps":10,"dtrain":"0.1.0","libtorch":"2.11.0"})";

inline StepEvent step() {
  auto event = event_of<StepEvent>();
  event.epoch = 1;
  event.step = 50;
  event.metrics = {{"loss", 0.25}, {"accuracy", 1.0}};
  event.learning_rate = 0.002;
  event.gradient_norm = 1.5;
  event.loss_scale = 65536;
  event.skipped_updates = 1;
  event.speed = {64000.0, 2.0};
  event.traffic = {1000, 2000};
  return event;
}
inline constexpr const char* kStep =
    R"({"event":"step","time":"2026-01-31T12:00:00.000Z","run":"distributed","epoch":1,"step":50,"loss":0.25,)"
    R"("accuracy":1.0,"learning_rate":0.002,"gradient_norm":1.5,"loss_scale":65536.0,)"
    R"("skipped_updates":1,"examples_per_second":64000.0,"step_ms":2.0,"bytes_sent":1000,"bytes_received":2000})";

inline EpochEvent epoch() {
  auto event = event_of<EpochEvent>();
  event.epoch = 1;
  event.steps = 469;
  event.examples = 60000;
  event.seconds = 0.96;
  event.metrics = {{"loss", 0.3125}, {"accuracy", 0.9}};
  event.learning_rate = 0.002;
  event.noise_scale = 512.5;
  event.speed = {64000.0, 2.0};
  event.phases_ms = StepTimes{{0.5, 1.5, 0.25, 0.125, 0}};
  event.device = {5, 10, 0.5};
  event.traffic = {1000, 2000};
  return event;
}
inline constexpr const char* kEpoch =
    R"({"event":"epoch","time":"2026-01-31T12:00:00.000Z","run":"distributed","epoch":1,"steps":469,)"
    R"("examples":60000,"seconds":0.96,"loss":0.3125,"accuracy":0.9,"learning_rate":0.002,"noise_scale":512.5,)"
    R"("examples_per_second":64000.0,"step_ms":2.0,)"
    R"("phases_ms":{"data_wait":0.5,"compute":1.5,"communicate":0.25,"update":0.125,"wait_for_peers":0.0},)"
    R"("device_memory_bytes":5,"device_memory_total_bytes":10,)"
    R"("device_utilisation":0.5,"bytes_sent":1000,"bytes_received":2000})";

inline PhaseEvent phase() {
  auto event = event_of<PhaseEvent>();
  event.phase = 1;
  event.phases = 2;
  event.name = "head";
  event.step = 0;
  event.learning_rate = 0.001;
  event.learning_rate_derivation = "0.0005 x 2";
  event.trained_parameters = 1290;
  event.parameters = 235146;
  event.gradient_bytes = 5160;
  event.execution = "eager";
  event.execution_reason = "train.step: eager";
  event.feature_bytes = 65536;
  event.feature_seconds = 1.5;
  return event;
}
inline constexpr const char* kPhase =
    R"({"event":"phase","time":"2026-01-31T12:00:00.000Z","run":"distributed","phase":1,"phases":2,"name":"head",)"
    R"("step":0,"learning_rate":0.001,"learning_rate_derivation":"0.0005 x 2",)"
    R"("trained_parameters":1290,"parameters":235146,"gradient_bytes":5160,"execution":"eager",)"
    R"("execution_reason":"train.step: eager","feature_bytes":65536,"feature_seconds":1.5})";

inline EvalEvent evaluation() {
  auto event = event_of<EvalEvent>();
  event.part = "test";
  event.epoch = 1;
  event.step = 469;
  event.metrics = {{"loss", std::nan("")}, {"accuracy", 0.976}};
  event.examples = 10000;
  event.seconds = std::numeric_limits<double>::infinity();
  return event;
}
inline constexpr const char* kEval =
    R"({"event":"eval","time":"2026-01-31T12:00:00.000Z","run":"distributed","part":"test","epoch":1,)"
    R"("step":469,"loss":"nan","accuracy":0.976,"examples":10000,"seconds":"inf"})";

inline InspectEvent inspection() {
  auto event = event_of<InspectEvent>();
  event.step = 7;
  InspectedReplica with, without;
  with.rank = 0;
  with.examples = 64;
  with.first_indices = {5, 17};
  with.loss = 0.5;
  with.gradient_norm = 0.125;
  with.weight_norm = 12.5;
  without.rank = 1;
  without.examples = 0;
  without.first_indices.emplace();
  event.replicas = {with, without};
  event.gradient_norm = 0.25;
  event.expected_gradient_norm = 0.75;
  event.gradient_difference = 1e-8;
  event.gradient_tolerance = 1e-5;
  event.weights_equal = true;
  event.passed = false;
  return event;
}
inline constexpr const char* kInspect =
    R"({"event":"inspect","time":"2026-01-31T12:00:00.000Z","run":"distributed","step":7,"replicas":[)"
    R"({"rank":0,"examples":64,"first_indices":[5,17],"loss":0.5,"gradient_norm":0.125,"weight_norm":12.5},)"
    R"({"rank":1,"examples":0,"first_indices":[]}],"gradient_norm":0.25,"expected_gradient_norm":0.75,)"
    R"("gradient_difference":1e-08,"gradient_tolerance":1e-05,"weights_equal":true,"passed":false})";

inline CheckpointEvent checkpoint() {
  auto event = event_of<CheckpointEvent>();
  event.step = 100;
  event.epoch = 2;
  event.path = "runs/a/checkpoints/100";
  event.suspicion = "a checksum";
  event.stall_ms = 1.5;
  return event;
}
inline constexpr const char* kCheckpoint =
    R"({"event":"checkpoint","time":"2026-01-31T12:00:00.000Z","run":"distributed","step":100,"epoch":2,)"
    R"("path":"runs/a/checkpoints/100","suspicion":"a checksum","stall_ms":1.5})";

inline WorkerLostEvent worker_lost() {
  auto event = event_of<WorkerLostEvent>();
  event.worker = 1;
  event.reason = "killed by SIGKILL";
  event.restart = 2;
  return event;
}
inline constexpr const char* kWorkerLost =
    R"({"event":"worker_lost","time":"2026-01-31T12:00:00.000Z","run":"distributed","worker":1,)"
    R"("reason":"killed by SIGKILL","restart":2})";

inline RestartEvent restart() {
  auto event = event_of<RestartEvent>();
  event.restart = 1;
  event.exit_code = 4;
  event.error = "rank 1 failed first";
  event.failed_step = 12;
  event.step = 10;
  event.wait_seconds = 0;
  return event;
}
inline constexpr const char* kRestart =
    R"({"event":"restart","time":"2026-01-31T12:00:00.000Z","run":"distributed","restart":1,"exit_code":4,)"
    R"("error":"rank 1 failed first","failed_step":12,"step":10,"wait_seconds":0.0})";

inline MessageEvent message() {
  auto event = event_of<MessageEvent>();
  event.text = "a line";
  return event;
}
inline constexpr const char* kMessage =
    R"({"event":"message","time":"2026-01-31T12:00:00.000Z","run":"distributed","text":"a line"})";

inline WarningEvent warning() {
  auto event = event_of<WarningEvent>();
  event.text = "a line";
  return event;
}
inline constexpr const char* kWarning =
    R"({"event":"warning","time":"2026-01-31T12:00:00.000Z","run":"distributed","text":"a line"})";

inline RunEndEvent run_end() {
  auto event = event_of<RunEndEvent>();
  event.status = "completed";
  event.exit_code = 0;
  event.error = "none";
  event.epochs = 2;
  event.steps = 938;
  event.seconds = 2.25;
  event.phase = 2;
  event.seconds_per_epoch = 0.96;
  event.speed = {64000.0, 2.0};
  event.staleness = StalenessSummary{NamedCounts{{"0", 120}, {"64-127", 1}}, 1.25, 70};
  event.workers = {WorkerSummary{100, 400, 50.5, true, true, 2}, WorkerSummary{1, 4, 0.0, {}, {}, {}}};
  event.traffic = {1000, 2000};
  event.links = {LinkSummary{{{"a", "b"}}, 1000, 2000, 5, 0.25, 0.125, 1e6}};
  event.device = {5, 10, 0.5};
  event.skipped_steps = 10;
  event.skipped_updates = 3;
  event.phases_ms = StepTimes{{0.5, 1.5, 0.25, 0.125, 0}};
  event.noise_scale = 512.5;
  event.part = "test";
  event.metrics = {{"loss", 0.0715}, {"accuracy", 0.976}};
  event.intervals = NamedIntervals{{"loss", 0.0625, 0.125}};
  event.validation = ValidationSummary{{{"loss", 0.5}}};
  event.restart_cost = {2, 3.5};
  return event;
}
inline constexpr const char* kRunEnd =
    R"({"event":"run_end","time":"2026-01-31T12:00:00.000Z","run":"distributed","status":"completed",)"
    R"("exit_code":0,"error":"none","epochs":2,"steps":938,"seconds":2.25,"phase":2,)"
    R"("seconds_per_epoch":0.96,"examples_per_second":64000.0,"step_ms":2.0,)"
    R"("staleness":{"updates":{"0":120,"64-127":1},"mean":1.25,"maximum":70},)"
    R"("workers":[{"updates":100,"examples":400,"updates_per_second":50.5,"straggler":true,)"
    R"("lost":true,"returns":2},{"updates":1,"examples":4,"updates_per_second":0.0}],"bytes_sent":1000,)"
    R"("bytes_received":2000,"links":[{"hosts":["a","b"],"bytes_sent":1000,"bytes_received":2000,)"
    R"("retransmitted_bytes":5,"round_trip_ms":0.25,"least_round_trip_ms":0.125,)"
    R"("bytes_per_second":1000000.0}],"device_memory_bytes":5,"device_memory_total_bytes":10,)"
    R"("device_utilisation":0.5,"skipped_steps":10,"skipped_updates":3,"phases_ms":{"data_wait":0.5,)"
    R"("compute":1.5,"communicate":0.25,"update":0.125,"wait_for_peers":0.0},"noise_scale":512.5,"part":"test",)"
    R"("loss":0.0715,"accuracy":0.976,"intervals":{"loss":[0.0625,0.125]},"validation":{"loss":0.5},)"
    R"("restarts":2,"lost_seconds":3.5})";

inline ComparisonEvent comparison() {
  auto event = event_of<ComparisonEvent>();
  event.name = "small";
  event.dataset = "fashion_mnist";
  event.dataset_requested = "mnist";
  ComparedRun& baseline = event.baseline.emplace();
  baseline.strategy = "one_device";
  baseline.replicas = 1;
  baseline.global_batch = 128;
  const MetricValues metrics = {{"loss", 0.0715}, {"accuracy", 0.976}};
  const ValidationSummary validation{{{"loss", 0.5}}};
  event.distributed = {"mirrored", 2, 128, 0.96, {64000.0, 2.0}, "test", metrics, validation, {2, 3.5}};
  event.speedup = 1.75;
  event.scaling_efficiency = 0.875;
  event.overhead = -0.5;
  event.overhead_uncertainty = 0.25;
  event.verdict = "A sentence.";
  return event;
}
inline constexpr const char* kComparison =
    R"({"event":"comparison","time":"2026-01-31T12:00:00.000Z","run":"distributed","name":"small",)"
    R"("dataset":"fashion_mnist","dataset_requested":"mnist","baseline":{"strategy":"one_device",)"
    R"("replicas":1,"global_batch":128},"distributed":{"strategy":"mirrored","replicas":2,)"
    R"("global_batch":128,"seconds_per_epoch":0.96,"examples_per_second":64000.0,"step_ms":2.0,)"
    R"("part":"test","loss":0.0715,"accuracy":0.976,"validation":{"loss":0.5},"restarts":2,)"
    R"("lost_seconds":3.5},"speedup":1.75,"scaling_efficiency":0.875,"overhead":-0.5,"overhead_uncertainty":0.25,)"
    R"("verdict":"A sentence."})";

inline ProgressEvent progress() {
  auto event = event_of<ProgressEvent>();
  event.epoch = 1;
  event.step = 2;
  return event;
}
inline constexpr const char* kProgress =
    R"({"event":"progress","time":"2026-01-31T12:00:00.000Z","run":"distributed","epoch":1,"step":2})";

inline OverheadEvent overhead() {
  auto event = event_of<OverheadEvent>("overhead");
  event.step = 210;
  event.steps = 210;
  event.overhead = 0.125;
  event.uncertainty = 0.5;
  return event;
}
inline constexpr const char* kOverhead =
    R"({"event":"overhead","time":"2026-01-31T12:00:00.000Z","run":"overhead","step":210,"steps":210,)"
    R"("overhead":0.125,"uncertainty":0.5})";

inline MachineEvent machine() {
  auto event = event_of<MachineEvent>();
  event.seconds = 5.5;
  event.processors = 0.75;
  event.memory_bytes = 4000;
  event.memory_total_bytes = 8000;
  return event;
}
inline constexpr const char* kMachine =
    R"({"event":"machine","time":"2026-01-31T12:00:00.000Z","run":"distributed","seconds":5.5,)"
    R"("processors":0.75,"memory_bytes":4000,"memory_total_bytes":8000})";

// Calls `check` with every event and its text.
template <class Check>
void for_each(const Check& check) {
  check(run_start(), kRunStart);
  check(step(), kStep);
  check(epoch(), kEpoch);
  check(phase(), kPhase);
  check(evaluation(), kEval);
  check(inspection(), kInspect);
  check(checkpoint(), kCheckpoint);
  check(worker_lost(), kWorkerLost);
  check(restart(), kRestart);
  check(message(), kMessage);
  check(warning(), kWarning);
  check(run_end(), kRunEnd);
  check(comparison(), kComparison);
  check(progress(), kProgress);
  check(overhead(), kOverhead);
  check(machine(), kMachine);
}

}  // namespace dtrain::every_event
