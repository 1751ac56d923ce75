// The events of a run as structs. event_tables.cpp describes every field; encode() and decode() are the only
// places where names of fields in JSON meet these members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/step_clock.h"
#include "metrics/event.h"
#include "traits/objectives.h"

namespace dtrain {

template <class T>
struct EventTable;  // metrics/event_tables.h

// Every member may be missing: an event may come from another version of dtrain, or from a run that ended too
// early. Missing members are not written.
struct EventHead {
  std::optional<std::string> time;  // UTC
  std::optional<std::string> run;   // "baseline" or "distributed"
};

// An event of this kind, with the current time.
template <class T>
T begin_event(const std::string& run);

// {"event": T's kind, "time": ..., "run": ..., then the fields in the order of T's table}
template <class T>
Event encode(const T& event);

// nullopt: it is an event of another kind, or not an event. A field of another type counts as missing; a
// field that T does not have is ignored.
template <class T>
std::optional<T> decode(const Event& event);

// The fields that are known for an event of any kind, even a kind that this version does not know.
struct EventPlace {
  std::string kind;  // empty: not an event
  std::optional<std::string> run;
  std::optional<int64_t> epoch;
  std::optional<int64_t> step;
};
EventPlace place_of(const Event& event);

// {"data_wait": 0.1, ...}: a number for each kind of time.
Event step_times_json(const StepTimes& times);

// The values of `part`: which examples were evaluated, where the spec has data.split. Without it there is no
// `part`, and evaluations are of the test examples.
inline constexpr const char* kValidationPart = "validation";
inline constexpr const char* kTestPart = "test";

// Parts that several events have. In JSON, their fields are fields of the event.

struct StepSpeed {
  std::optional<double> examples_per_second, step_ms;
  static const EventTable<StepSpeed> table;
};

struct StepTraffic {
  std::optional<int64_t> bytes_sent, bytes_received;
  static const EventTable<StepTraffic> table;
};

struct DeviceUse {
  std::optional<int64_t> device_memory_bytes, device_memory_total_bytes;
  std::optional<double> device_utilisation;
  static const EventTable<DeviceUse> table;
};

struct RestartCost {
  std::optional<int64_t> restarts;
  std::optional<double> lost_seconds;
  static const EventTable<RestartCost> table;
};

// The events.

struct RunStartEvent : EventHead {
  std::optional<std::string> name, folder, strategy, strategy_fallback;
  std::optional<int64_t> replicas, virtual_replicas;
  std::optional<std::vector<std::string>> devices;
  std::optional<bool> spans_hosts;
  std::optional<int64_t> servers, max_staleness, threads_per_replica, global_batch, per_replica_batch,
      accumulate_steps;
  std::optional<double> learning_rate;
  std::optional<std::string> learning_rate_derivation;
  std::optional<int64_t> warmup_steps, phases, steps_per_epoch, epochs, total_steps, resumed_step,
      train_examples, validation_examples, test_examples, bad_examples;
  std::optional<std::string> dataset, dataset_source, dataset_requested;
  std::optional<int64_t> parameters;
  std::optional<std::string> weights, weights_sha256, dtype, precision, execution, execution_reason, products;
  std::optional<int64_t> seed;
  std::optional<std::string> host, processor;
  std::optional<int64_t> skipped_steps;
  std::optional<std::string> dtrain, libtorch;
  static const EventTable<RunStartEvent> table;
};

struct StepEvent : EventHead {
  std::optional<int64_t> epoch, step;
  MetricValues metrics;
  std::optional<double> learning_rate, gradient_norm, loss_scale;
  std::optional<int64_t> skipped_updates;
  StepSpeed speed;
  StepTraffic traffic;
  static const EventTable<StepEvent> table;
};

struct EpochEvent : EventHead {
  std::optional<int64_t> epoch, steps, examples;
  std::optional<double> seconds;
  MetricValues metrics;
  std::optional<double> learning_rate, noise_scale;
  StepSpeed speed;
  std::optional<StepTimes> phases_ms;
  DeviceUse device;
  StepTraffic traffic;
  static const EventTable<EpochEvent> table;
};

struct PhaseEvent : EventHead {
  std::optional<int64_t> phase, phases;
  std::optional<std::string> name;
  std::optional<int64_t> step;
  std::optional<double> learning_rate;
  std::optional<std::string> learning_rate_derivation;
  std::optional<int64_t> trained_parameters, parameters, gradient_bytes;
  std::optional<std::string> execution, execution_reason;
  std::optional<int64_t> feature_bytes;
  std::optional<double> feature_seconds;
  static const EventTable<PhaseEvent> table;
};

struct EvalEvent : EventHead {
  std::optional<std::string> part;
  std::optional<int64_t> epoch, step;
  MetricValues metrics;
  std::optional<int64_t> examples;
  std::optional<double> seconds;
  static const EventTable<EvalEvent> table;
};

struct InspectedReplica {
  std::optional<int64_t> rank, examples;
  std::optional<std::vector<int64_t>> first_indices;
  std::optional<double> loss, gradient_norm, weight_norm;
  static const EventTable<InspectedReplica> table;
};

struct InspectEvent : EventHead {
  std::optional<int64_t> step;
  std::optional<std::vector<InspectedReplica>> replicas;
  std::optional<double> gradient_norm, expected_gradient_norm, gradient_difference, gradient_tolerance;
  std::optional<bool> weights_equal, passed;
  static const EventTable<InspectEvent> table;
};

struct CheckpointEvent : EventHead {
  std::optional<int64_t> step, epoch;
  std::optional<std::string> path, suspicion;
  std::optional<double> stall_ms;
  static const EventTable<CheckpointEvent> table;
};

struct WorkerLostEvent : EventHead {
  std::optional<int64_t> worker;
  std::optional<std::string> reason;
  std::optional<int64_t> restart;
  static const EventTable<WorkerLostEvent> table;
};

struct RestartEvent : EventHead {
  std::optional<int64_t> restart, exit_code;
  std::optional<std::string> error;
  std::optional<int64_t> failed_step, step;
  std::optional<double> wait_seconds;
  static const EventTable<RestartEvent> table;
};

struct MachineEvent : EventHead {
  std::optional<double> seconds, processors;
  std::optional<int64_t> memory_bytes, memory_total_bytes;
  static const EventTable<MachineEvent> table;
};

struct MessageEvent : EventHead {
  std::optional<std::string> text;
  static const EventTable<MessageEvent> table;
};

struct WarningEvent : EventHead {
  std::optional<std::string> text;
  static const EventTable<WarningEvent> table;
};

// Counts by name: {{"0", 120}, {"64-127", 1}}.
using NamedCounts = std::vector<std::pair<std::string, int64_t>>;

// A metric, and the lowest and the highest value of its interval. Events do not have the value.
struct MetricInterval {
  std::string name;
  double low = 0, high = 0;
  double value = 0;
};
using NamedIntervals = std::vector<MetricInterval>;
Event json_of(const NamedIntervals& intervals);  // {"accuracy": [0.97, 0.98]}

struct StalenessSummary {
  std::optional<NamedCounts> updates;
  std::optional<double> mean;
  std::optional<int64_t> maximum;
  static const EventTable<StalenessSummary> table;
};

struct WorkerSummary {
  std::optional<int64_t> updates, examples;
  std::optional<double> updates_per_second;
  std::optional<bool> straggler, lost;
  std::optional<int64_t> returns;
  static const EventTable<WorkerSummary> table;
};

struct LinkSummary {
  std::optional<std::vector<std::string>> hosts;
  std::optional<int64_t> bytes_sent, bytes_received, retransmitted_bytes;
  std::optional<double> round_trip_ms, least_round_trip_ms, bytes_per_second;
  static const EventTable<LinkSummary> table;
};

// The last evaluation of the validation part.
struct ValidationSummary {
  MetricValues metrics;
  static const EventTable<ValidationSummary> table;
};

struct RunEndEvent : EventHead {
  std::optional<std::string> status;
  std::optional<int64_t> exit_code;
  std::optional<std::string> error;
  std::optional<int64_t> epochs, steps;
  std::optional<double> seconds;
  std::optional<int64_t> phase;
  std::optional<double> seconds_per_epoch;
  StepSpeed speed;
  std::optional<StalenessSummary> staleness;
  std::optional<std::vector<WorkerSummary>> workers;
  StepTraffic traffic;
  std::optional<std::vector<LinkSummary>> links;
  DeviceUse device;
  std::optional<int64_t> skipped_steps, skipped_updates;
  std::optional<StepTimes> phases_ms;
  std::optional<double> noise_scale;
  std::optional<std::string> part;
  MetricValues metrics;
  std::optional<NamedIntervals> intervals;
  std::optional<ValidationSummary> validation;
  RestartCost restart_cost;
  static const EventTable<RunEndEvent> table;
};

// One of the two runs of a comparison.
struct ComparedRun {
  std::optional<std::string> strategy;
  std::optional<int64_t> replicas, global_batch;
  std::optional<double> seconds_per_epoch;
  StepSpeed speed;
  std::optional<std::string> part;
  MetricValues metrics;
  std::optional<ValidationSummary> validation;
  RestartCost restart_cost;
  static const EventTable<ComparedRun> table;
};

struct ComparisonEvent : EventHead {
  std::optional<std::string> name, dataset, dataset_requested;
  std::optional<ComparedRun> baseline, distributed;
  std::optional<double> speedup, scaling_efficiency, overhead, overhead_uncertainty;
  std::optional<std::string> verdict;
  static const EventTable<ComparisonEvent> table;
};

// Sent from the replica to the supervisor, and not written.
struct ProgressEvent : EventHead {
  std::optional<int64_t> epoch, step;
  static const EventTable<ProgressEvent> table;
};

// Likewise; carries numbers for the comparison.
struct OverheadEvent : EventHead {
  std::optional<int64_t> step, steps;
  std::optional<double> overhead, uncertainty;
  static const EventTable<OverheadEvent> table;
};

}  // namespace dtrain
