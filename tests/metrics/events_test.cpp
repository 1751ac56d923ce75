#include "metrics/events.h"

#include <cmath>
#include <limits>
#include <set>

#include "catch.h"
#include "metrics/event_tables.h"

namespace dtrain {
namespace {

const char* const kTime = "2026-01-31T12:00:00.000Z";

template <class T>
T event_of(const std::string& run = "distributed") {
  T event;
  event.time = kTime;
  event.run = run;
  return event;
}

// One event of each kind with every field, and its text. Readers of metrics.jsonl depend on these names,
// their order and the types of their values.

RunStartEvent run_start() {
  auto event = event_of<RunStartEvent>("baseline");
  event.name = "small";
  event.folder = "/runs/small";
  event.strategy = "parameter_server";
  event.replicas = 2;
  event.devices = {"cpu", "cuda:0"};
  event.servers = 1;
  event.max_staleness = 4;
  event.threads_per_replica = 3;
  event.global_batch = 128;
  event.per_replica_batch = 64;
  event.accumulate_steps = 1;
  event.learning_rate = 0.5;
  event.learning_rate_derivation = "0.25 x 2";
  event.warmup_steps = 7;
  event.steps_per_epoch = 469;
  event.epochs = 2;
  event.total_steps = 938;
  event.resumed_step = 10;
  event.train_examples = 60000;
  event.validation_examples = 6;
  event.test_examples = 10000;
  event.dataset = "fashion_mnist";
  event.dataset_source = "data";
  event.dataset_requested = "mnist";
  event.parameters = 235146;
  event.dtype = "float32";
  event.precision = "bf16_mixed";
  event.seed = 42;
  event.host = "here";
  event.processor = "a processor";
  event.skipped_steps = 10;
  event.dtrain = "0.1.0";
  event.libtorch = "2.11.0";
  return event;
}
const char* const kRunStart =
    R"({"event":"run_start","time":"2026-01-31T12:00:00.000Z","run":"baseline","name":"small","folder":"/runs/small",)"
    R"("strategy":"parameter_server","replicas":2,"devices":["cpu","cuda:0"],"servers":1,"max_staleness":4,)"
    R"("threads_per_replica":3,"global_batch":128,"per_replica_batch":64,"accumulate_steps":1,)"
    R"("learning_rate":0.5,"learning_rate_derivation":"0.25 x 2","warmup_steps":7,"steps_per_epoch":469,)"
    R"("epochs":2,"total_steps":938,"resumed_step":10,"train_examples":60000,"validation_examples":6,)"
    R"("test_examples":10000,"dataset":"fashion_mnist","dataset_source":"data","dataset_requested":"mnist",)"
    R"("parameters":235146,"dtype":"float32","precision":"bf16_mixed","seed":42,"host":"here",)"
    R"("processor":"a processor","skipped_steps":10,"dtrain":"0.1.0","libtorch":"2.11.0"})";

StepEvent step() {
  auto event = event_of<StepEvent>();
  event.epoch = 1;
  event.step = 50;
  event.metrics = {{"loss", 0.25}, {"accuracy", 1.0}};
  event.learning_rate = 0.002;
  event.loss_scale = 65536;
  event.skipped_updates = 1;
  event.speed = {64000.0, 2.0};
  event.traffic = {1000, 2000};
  return event;
}
const char* const kStep =
    R"({"event":"step","time":"2026-01-31T12:00:00.000Z","run":"distributed","epoch":1,"step":50,"loss":0.25,)"
    R"("accuracy":1.0,"learning_rate":0.002,"loss_scale":65536.0,"skipped_updates":1,)"
    R"("examples_per_second":64000.0,"step_ms":2.0,"bytes_sent":1000,"bytes_received":2000})";

EpochEvent epoch() {
  auto event = event_of<EpochEvent>();
  event.epoch = 1;
  event.steps = 469;
  event.examples = 60000;
  event.seconds = 0.96;
  event.metrics = {{"loss", 0.3125}, {"accuracy", 0.9}};
  event.learning_rate = 0.002;
  event.speed = {64000.0, 2.0};
  event.phases_ms = PhaseTimes{{0.5, 1.5, 0.25, 0.125, 0}};
  event.device = {5, 10, 0.5};
  event.traffic = {1000, 2000};
  return event;
}
const char* const kEpoch =
    R"({"event":"epoch","time":"2026-01-31T12:00:00.000Z","run":"distributed","epoch":1,"steps":469,)"
    R"("examples":60000,"seconds":0.96,"loss":0.3125,"accuracy":0.9,"learning_rate":0.002,)"
    R"("examples_per_second":64000.0,"step_ms":2.0,)"
    R"("phases_ms":{"data_wait":0.5,"compute":1.5,"communicate":0.25,"update":0.125,"wait_for_peers":0.0},)"
    R"("device_memory_bytes":5,"device_memory_total_bytes":10,)"
    R"("device_utilisation":0.5,"bytes_sent":1000,"bytes_received":2000})";

EvalEvent evaluation() {
  auto event = event_of<EvalEvent>();
  event.part = "test";
  event.epoch = 1;
  event.step = 469;
  event.metrics = {{"loss", std::nan("")}, {"accuracy", 0.976}};
  event.examples = 10000;
  event.seconds = std::numeric_limits<double>::infinity();
  return event;
}
const char* const kEval =
    R"({"event":"eval","time":"2026-01-31T12:00:00.000Z","run":"distributed","part":"test","epoch":1,)"
    R"("step":469,"loss":"nan","accuracy":0.976,"examples":10000,"seconds":"inf"})";

InspectEvent inspection() {
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
const char* const kInspect =
    R"({"event":"inspect","time":"2026-01-31T12:00:00.000Z","run":"distributed","step":7,"replicas":[)"
    R"({"rank":0,"examples":64,"first_indices":[5,17],"loss":0.5,"gradient_norm":0.125,"weight_norm":12.5},)"
    R"({"rank":1,"examples":0,"first_indices":[]}],"gradient_norm":0.25,"expected_gradient_norm":0.75,)"
    R"("gradient_difference":1e-08,"gradient_tolerance":1e-05,"weights_equal":true,"passed":false})";

CheckpointEvent checkpoint() {
  auto event = event_of<CheckpointEvent>();
  event.step = 100;
  event.epoch = 2;
  event.path = "runs/a/checkpoints/100";
  event.suspicion = "a checksum";
  event.stall_ms = 1.5;
  return event;
}
const char* const kCheckpoint =
    R"({"event":"checkpoint","time":"2026-01-31T12:00:00.000Z","run":"distributed","step":100,"epoch":2,)"
    R"("path":"runs/a/checkpoints/100","suspicion":"a checksum","stall_ms":1.5})";

WorkerLostEvent worker_lost() {
  auto event = event_of<WorkerLostEvent>();
  event.worker = 1;
  event.reason = "killed by SIGKILL";
  event.restart = 2;
  return event;
}
const char* const kWorkerLost =
    R"({"event":"worker_lost","time":"2026-01-31T12:00:00.000Z","run":"distributed","worker":1,)"
    R"("reason":"killed by SIGKILL","restart":2})";

RestartEvent restart() {
  auto event = event_of<RestartEvent>();
  event.restart = 1;
  event.exit_code = 4;
  event.error = "rank 1 failed first";
  event.failed_step = 12;
  event.step = 10;
  event.wait_seconds = 0;
  return event;
}
const char* const kRestart =
    R"({"event":"restart","time":"2026-01-31T12:00:00.000Z","run":"distributed","restart":1,"exit_code":4,)"
    R"("error":"rank 1 failed first","failed_step":12,"step":10,"wait_seconds":0.0})";

MessageEvent message() {
  auto event = event_of<MessageEvent>();
  event.text = "a line";
  return event;
}
const char* const kMessage =
    R"({"event":"message","time":"2026-01-31T12:00:00.000Z","run":"distributed","text":"a line"})";

WarningEvent warning() {
  auto event = event_of<WarningEvent>();
  event.text = "a line";
  return event;
}
const char* const kWarning =
    R"({"event":"warning","time":"2026-01-31T12:00:00.000Z","run":"distributed","text":"a line"})";

RunEndEvent run_end() {
  auto event = event_of<RunEndEvent>();
  event.status = "completed";
  event.exit_code = 0;
  event.error = "none";
  event.epochs = 2;
  event.steps = 938;
  event.seconds = 2.25;
  event.seconds_per_epoch = 0.96;
  event.speed = {64000.0, 2.0};
  event.staleness = StalenessSummary{NamedCounts{{"0", 120}, {"64-127", 1}}, 1.25, 70};
  event.workers = {WorkerSummary{100, 400, 50.5, true, true, 2}, WorkerSummary{1, 4, 0.0, {}, {}, {}}};
  event.traffic = {1000, 2000};
  event.device = {5, 10, 0.5};
  event.skipped_steps = 10;
  event.skipped_updates = 3;
  event.phases_ms = PhaseTimes{{0.5, 1.5, 0.25, 0.125, 0}};
  event.part = "test";
  event.metrics = {{"loss", 0.0715}, {"accuracy", 0.976}};
  event.validation = ValidationSummary{{{"loss", 0.5}}};
  event.restart_cost = {2, 3.5};
  return event;
}
const char* const kRunEnd =
    R"({"event":"run_end","time":"2026-01-31T12:00:00.000Z","run":"distributed","status":"completed",)"
    R"("exit_code":0,"error":"none","epochs":2,"steps":938,"seconds":2.25,"seconds_per_epoch":0.96,)"
    R"("examples_per_second":64000.0,"step_ms":2.0,"staleness":{"updates":{"0":120,"64-127":1},"mean":1.25,)"
    R"("maximum":70},"workers":[{"updates":100,"examples":400,"updates_per_second":50.5,"straggler":true,)"
    R"("lost":true,"returns":2},{"updates":1,"examples":4,"updates_per_second":0.0}],"bytes_sent":1000,)"
    R"("bytes_received":2000,"device_memory_bytes":5,"device_memory_total_bytes":10,)"
    R"("device_utilisation":0.5,"skipped_steps":10,"skipped_updates":3,"phases_ms":{"data_wait":0.5,)"
    R"("compute":1.5,"communicate":0.25,"update":0.125,"wait_for_peers":0.0},"part":"test",)"
    R"("loss":0.0715,"accuracy":0.976,"validation":{"loss":0.5},"restarts":2,"lost_seconds":3.5})";

ComparisonEvent comparison() {
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
const char* const kComparison =
    R"({"event":"comparison","time":"2026-01-31T12:00:00.000Z","run":"distributed","name":"small",)"
    R"("dataset":"fashion_mnist","dataset_requested":"mnist","baseline":{"strategy":"one_device",)"
    R"("replicas":1,"global_batch":128},"distributed":{"strategy":"mirrored","replicas":2,)"
    R"("global_batch":128,"seconds_per_epoch":0.96,"examples_per_second":64000.0,"step_ms":2.0,)"
    R"("part":"test","loss":0.0715,"accuracy":0.976,"validation":{"loss":0.5},"restarts":2,)"
    R"("lost_seconds":3.5},"speedup":1.75,"scaling_efficiency":0.875,"overhead":-0.5,"overhead_uncertainty":0.25,)"
    R"("verdict":"A sentence."})";

ProgressEvent progress() {
  auto event = event_of<ProgressEvent>();
  event.epoch = 1;
  event.step = 2;
  return event;
}
const char* const kProgress =
    R"({"event":"progress","time":"2026-01-31T12:00:00.000Z","run":"distributed","epoch":1,"step":2})";

OverheadEvent overhead() {
  auto event = event_of<OverheadEvent>("overhead");
  event.step = 210;
  event.steps = 210;
  event.overhead = 0.125;
  event.uncertainty = 0.5;
  return event;
}
const char* const kOverhead =
    R"({"event":"overhead","time":"2026-01-31T12:00:00.000Z","run":"overhead","step":210,"steps":210,)"
    R"("overhead":0.125,"uncertainty":0.5})";

MachineEvent machine() {
  auto event = event_of<MachineEvent>();
  event.seconds = 5.5;
  event.processors = 0.75;
  event.memory_bytes = 4000;
  event.memory_total_bytes = 8000;
  return event;
}
const char* const kMachine =
    R"({"event":"machine","time":"2026-01-31T12:00:00.000Z","run":"distributed","seconds":5.5,)"
    R"("processors":0.75,"memory_bytes":4000,"memory_total_bytes":8000})";

// Calls `check` with every event and its text.
template <class Check>
void for_each_event(const Check& check) {
  check(run_start(), kRunStart);
  check(step(), kStep);
  check(epoch(), kEpoch);
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

template <class T>
std::string text_of(const std::optional<T>& event) {
  return event ? event_text(encode(*event)) : "none";
}

TEST_CASE("an event of each kind, whole") {
  for_each_event([](const auto& event, const char* text) { CHECK(event_text(encode(event)) == text); });
}

TEST_CASE("what is written reads back, before and after it was text") {
  for_each_event([]<class T>(const T& event, const char* text) {
    CHECK(text_of(decode<T>(Event::parse(text))) == text);
    CHECK(text_of(decode<T>(encode(event))) == text);
  });
  CHECK(std::isnan(find_metric(decode<EvalEvent>(Event::parse(kEval))->metrics, "loss").value()));
}

TEST_CASE("what is not set is not written") {
  for_each_event([]<class T>(const T&, const char*) {
    CHECK(encode(T()) == Event{{"event", T::table().kind}});
  });
  CHECK(event_text(encode(event_of<StepEvent>())) ==
        R"({"event":"step","time":"2026-01-31T12:00:00.000Z","run":"distributed"})");
}

TEST_CASE("an event is of one kind only, and what is no event of none") {
  for_each_event([](const auto&, const char* text) {
    const Event event = Event::parse(text);
    int kinds = 0;
    for_each_event([&]<class T>(const T&, const char*) { kinds += decode<T>(event) ? 1 : 0; });
    CHECK(kinds == 1);
  });
  for (const char* text : {"null", "3", "\"step\"", "[\"event\",\"step\"]", "{}", R"({"event":5})",
                           R"({"event":["step"]})", R"({"event":"steps","step":1})"}) {
    INFO(text);
    CHECK_FALSE(decode<StepEvent>(Event::parse(text)));
  }
}

// Values that are right for no field, or too large for it.
std::vector<Event> hostile_values() {
  return {Event(),
          Event(true),
          Event("x"),
          Event(""),
          Event(-1),
          Event(1.5),
          Event(1e308),
          Event(INT64_MIN),
          Event(UINT64_MAX),
          Event::object(),
          Event::array(),
          Event{{"0", "x"}, {"compute", {1}}, {"strategy", 7}},
          Event::array({nullptr, 1, "x", Event::array({1}), Event::object(), true})};
}

// Names and values of what decodes from `json` at the top.
template <class T>
Event decoded(const Event& json) {
  const std::optional<T> event = decode<T>(json);
  REQUIRE(event);
  return encode(*event);
}

TEST_CASE("a field that is missing, unknown or of another type harms no other") {
  for_each_event([]<class T>(const T&, const char* text) {
    const Event whole = Event::parse(text);
    for (const auto& [name, value] : whole.items()) {
      if (name == "event") continue;
      INFO(text << ": " << name);
      Event rest = whole;
      rest.erase(name);
      CHECK(event_text(decoded<T>(rest)) == event_text(rest));
      for (const Event& hostile : hostile_values()) {
        Event changed = whole;
        changed[name] = hostile;
        Event found = decoded<T>(changed);
        found.erase(name);
        CHECK(event_text(found) == event_text(rest));
      }
    }
    Event more = whole;
    more["of_a_later_version"] = {{"loss", 1}};
    CHECK(event_text(decoded<T>(more)) == text);
  });
}

TEST_CASE("of a value with the wrong type nothing is taken") {
  const auto start = [](const char* field, const Event& value) {
    return decode<RunStartEvent>(Event{{"event", "run_start"}, {field, value}}).value();
  };
  CHECK_FALSE(start("replicas", 1.5).replicas);
  CHECK_FALSE(start("replicas", "2").replicas);
  CHECK_FALSE(start("replicas", UINT64_MAX).replicas);
  CHECK(start("replicas", INT64_MAX).replicas == INT64_MAX);
  CHECK(start("learning_rate", 1).learning_rate == 1.0);
  CHECK(start("learning_rate", "-inf").learning_rate == -std::numeric_limits<double>::infinity());
  CHECK_FALSE(start("learning_rate", "1").learning_rate);
  CHECK_FALSE(start("name", 7).name);
  CHECK_FALSE(start("devices", "cpu").devices);
  CHECK(start("devices", {"cpu", 7, nullptr}).devices == std::vector<std::string>{"cpu"});
}

TEST_CASE("an array in place of an object, and the other way round, is nothing") {
  const auto end = decode<RunEndEvent>(Event::parse(
      R"({"event":"run_end","phases_ms":[1],"staleness":[],"workers":{"updates":1},"loss":[0.5]})"));
  CHECK_FALSE(end->phases_ms);
  CHECK_FALSE(end->staleness);
  CHECK_FALSE(end->workers);
  CHECK(end->metrics.empty());
  const auto compared = decode<ComparisonEvent>(
      Event::parse(R"({"event":"comparison","baseline":3,"distributed":{"strategy":{},"replicas":2}})"));
  CHECK_FALSE(compared->baseline);
  CHECK_FALSE(compared->distributed->strategy);
  CHECK(compared->distributed->replicas == 2);
  const auto inspected = decode<InspectEvent>(Event::parse(
      R"({"event":"inspect","replicas":[3,{"rank":"x","examples":2,"first_indices":{"a":1}}],"passed":1})"));
  REQUIRE(inspected->replicas->size() == 1);
  CHECK_FALSE(inspected->replicas->front().rank);
  CHECK_FALSE(inspected->replicas->front().first_indices);
  CHECK(inspected->replicas->front().examples == 2);
  CHECK_FALSE(inspected->passed);
}

TEST_CASE("phases that are missing or no numbers took no time") {
  const auto end =
      decode<RunEndEvent>(Event::parse(R"({"event":"run_end","phases_ms":{"compute":1.5,"update":"x"}})"));
  REQUIRE(end->phases_ms);
  CHECK((*end->phases_ms)[Phase::kCompute] == 1.5);
  CHECK(end->phases_ms->total() == 1.5);
}

TEST_CASE("metrics are found by name, in the order of the table of metrics") {
  const auto event = decode<EvalEvent>(Event::parse(R"({"event":"eval","accuracy":0.5,"loss":2,"other":1})"));
  CHECK((event->metrics == MetricValues{{"loss", 2.0}, {"accuracy", 0.5}}));
  CHECK(find_metric(event->metrics, "accuracy") == 0.5);
  CHECK_FALSE(find_metric(event->metrics, "other"));
  CHECK(decode<EvalEvent>(Event{{"event", "eval"}, {"loss", {1}}})->metrics.empty());
}

TEST_CASE("the place of an event is told whatever its kind is") {
  const EventPlace place = place_of(Event{{"event", "surprise"}, {"run", "baseline"}, {"step", 3}});
  CHECK(place.kind == "surprise");
  CHECK(place.run == "baseline");
  CHECK(place.step == 3);
  CHECK_FALSE(place.epoch);
  for (const Event& none : {Event(), Event(3), Event::array({1}), Event{{"event", 3}, {"step", "x"}}}) {
    CHECK(place_of(none).kind.empty());
    CHECK_FALSE(place_of(none).step);
  }
}

// The names that a table's fields have in JSON.
template <HasEventTable T>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  const auto add = [&]<class Value>(const std::string& name, const Value&) {
    if constexpr (HasEventTable<Value>) {
      for (const std::string& inner : names_of<Value>()) names.push_back(inner);
    } else if constexpr (std::is_same_v<Value, MetricValues>) {
      for (const std::string& metric : metric_names()) names.push_back(metric);
    } else {
      names.push_back(name);
    }
  };
  const T none;
  for (const auto& field : T::table().fields)
    std::visit([&](auto member) { add(field.name, none.*member); }, field.member);
  return names;
}

template <HasEventTable T>
void check_names() {
  const std::vector<std::string> names = names_of<T>();
  std::set<std::string> different(names.begin(), names.end());
  CHECK(different.size() == names.size());
  for (const char* head : {"event", "time", "run", ""}) CHECK_FALSE(different.contains(head));
}

TEST_CASE("no two fields of an event have the same name, metrics included") {
  for_each_event([]<class T>(const T&, const char*) { check_names<T>(); });
  check_names<InspectedReplica>();
  check_names<StalenessSummary>();
  check_names<WorkerSummary>();
  check_names<ComparedRun>();
}

TEST_CASE("the events above have every field of the tables") {
  for_each_event([]<class T>(const T&, const char* text) {
    const Event event = Event::parse(text);
    for (const std::string& name : names_of<T>()) {
      INFO(name);
      CHECK(event.contains(name));
    }
  });
}

}  // namespace
}  // namespace dtrain
