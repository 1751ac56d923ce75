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
  std::optional<double> examples_per_second;
  std::optional<double> step_ms;

  static const EventTable<StepSpeed>& table();
};

struct StepTraffic {
  std::optional<int64_t> bytes_sent;
  std::optional<int64_t> bytes_received;

  static const EventTable<StepTraffic>& table();
};

struct DeviceUse {
  std::optional<int64_t> device_memory_bytes;
  std::optional<int64_t> device_memory_total_bytes;
  std::optional<double> device_utilisation;

  static const EventTable<DeviceUse>& table();
};

struct RestartCost {
  std::optional<int64_t> restarts;
  std::optional<double> lost_seconds;

  static const EventTable<RestartCost>& table();
};

// The events.

struct RunStartEvent : EventHead {
  std::optional<std::string> name;
  std::optional<std::string> folder;
  std::optional<std::string> strategy;
  std::optional<std::string> strategy_fallback;
  std::optional<int64_t> replicas;
  std::optional<std::vector<std::string>> devices;
  std::optional<int64_t> servers;
  std::optional<int64_t> max_staleness;
  std::optional<int64_t> threads_per_replica;
  std::optional<int64_t> global_batch;
  std::optional<int64_t> per_replica_batch;
  std::optional<int64_t> accumulate_steps;
  std::optional<double> learning_rate;
  std::optional<std::string> learning_rate_derivation;
  std::optional<int64_t> warmup_steps;
  std::optional<int64_t> phases;
  std::optional<int64_t> steps_per_epoch;
  std::optional<int64_t> epochs;
  std::optional<int64_t> total_steps;
  std::optional<int64_t> resumed_step;
  std::optional<int64_t> train_examples;
  std::optional<int64_t> validation_examples;
  std::optional<int64_t> test_examples;
  std::optional<int64_t> bad_examples;
  std::optional<std::string> dataset;
  std::optional<std::string> dataset_source;
  std::optional<std::string> dataset_requested;
  std::optional<int64_t> parameters;
  std::optional<std::string> weights;
  std::optional<std::string> weights_sha256;
  std::optional<std::string> dtype;
  std::optional<std::string> precision;
  std::optional<std::string> execution;
  std::optional<std::string> execution_reason;
  std::optional<std::string> products;
  std::optional<int64_t> seed;
  std::optional<std::string> host;
  std::optional<std::string> processor;
  std::optional<int64_t> skipped_steps;
  std::optional<std::string> dtrain;
  std::optional<std::string> libtorch;

  static const EventTable<RunStartEvent>& table();
};

struct StepEvent : EventHead {
  std::optional<int64_t> epoch;
  std::optional<int64_t> step;
  MetricValues metrics;
  std::optional<double> learning_rate;
  std::optional<double> gradient_norm;
  std::optional<double> loss_scale;
  std::optional<int64_t> skipped_updates;
  StepSpeed speed;
  StepTraffic traffic;

  static const EventTable<StepEvent>& table();
};

struct EpochEvent : EventHead {
  std::optional<int64_t> epoch;
  std::optional<int64_t> steps;
  std::optional<int64_t> examples;
  std::optional<double> seconds;
  MetricValues metrics;
  std::optional<double> learning_rate;
  StepSpeed speed;
  std::optional<StepTimes> phases_ms;
  DeviceUse device;
  StepTraffic traffic;

  static const EventTable<EpochEvent>& table();
};

struct PhaseEvent : EventHead {
  std::optional<int64_t> phase;
  std::optional<int64_t> phases;
  std::optional<std::string> name;
  std::optional<int64_t> step;
  std::optional<double> learning_rate;
  std::optional<std::string> learning_rate_derivation;
  std::optional<int64_t> trained_parameters;
  std::optional<int64_t> parameters;
  std::optional<int64_t> gradient_bytes;
  std::optional<std::string> execution;
  std::optional<std::string> execution_reason;
  std::optional<int64_t> feature_bytes;
  std::optional<double> feature_seconds;

  static const EventTable<PhaseEvent>& table();
};

struct EvalEvent : EventHead {
  std::optional<std::string> part;
  std::optional<int64_t> epoch;
  std::optional<int64_t> step;
  MetricValues metrics;
  std::optional<int64_t> examples;
  std::optional<double> seconds;

  static const EventTable<EvalEvent>& table();
};

struct InspectedReplica {
  std::optional<int64_t> rank;
  std::optional<int64_t> examples;
  std::optional<std::vector<int64_t>> first_indices;
  std::optional<double> loss;
  std::optional<double> gradient_norm;
  std::optional<double> weight_norm;

  static const EventTable<InspectedReplica>& table();
};

struct InspectEvent : EventHead {
  std::optional<int64_t> step;
  std::optional<std::vector<InspectedReplica>> replicas;
  std::optional<double> gradient_norm;
  std::optional<double> expected_gradient_norm;
  std::optional<double> gradient_difference;
  std::optional<double> gradient_tolerance;
  std::optional<bool> weights_equal;
  std::optional<bool> passed;

  static const EventTable<InspectEvent>& table();
};

struct CheckpointEvent : EventHead {
  std::optional<int64_t> step;
  std::optional<int64_t> epoch;
  std::optional<std::string> path;
  std::optional<std::string> suspicion;
  std::optional<double> stall_ms;

  static const EventTable<CheckpointEvent>& table();
};

struct WorkerLostEvent : EventHead {
  std::optional<int64_t> worker;
  std::optional<std::string> reason;
  std::optional<int64_t> restart;

  static const EventTable<WorkerLostEvent>& table();
};

struct RestartEvent : EventHead {
  std::optional<int64_t> restart;
  std::optional<int64_t> exit_code;
  std::optional<std::string> error;
  std::optional<int64_t> failed_step;
  std::optional<int64_t> step;
  std::optional<double> wait_seconds;

  static const EventTable<RestartEvent>& table();
};

struct MachineEvent : EventHead {
  std::optional<double> seconds;
  std::optional<double> processors;
  std::optional<int64_t> memory_bytes;
  std::optional<int64_t> memory_total_bytes;

  static const EventTable<MachineEvent>& table();
};

struct MessageEvent : EventHead {
  std::optional<std::string> text;

  static const EventTable<MessageEvent>& table();
};

struct WarningEvent : EventHead {
  std::optional<std::string> text;

  static const EventTable<WarningEvent>& table();
};

// Counts by name: {{"0", 120}, {"64-127", 1}}.
using NamedCounts = std::vector<std::pair<std::string, int64_t>>;

struct StalenessSummary {
  std::optional<NamedCounts> updates;
  std::optional<double> mean;
  std::optional<int64_t> maximum;

  static const EventTable<StalenessSummary>& table();
};

struct WorkerSummary {
  std::optional<int64_t> updates;
  std::optional<int64_t> examples;
  std::optional<double> updates_per_second;
  std::optional<bool> straggler;
  std::optional<bool> lost;
  std::optional<int64_t> returns;

  static const EventTable<WorkerSummary>& table();
};

// The last evaluation of the validation part.
struct ValidationSummary {
  MetricValues metrics;

  static const EventTable<ValidationSummary>& table();
};

struct RunEndEvent : EventHead {
  std::optional<std::string> status;
  std::optional<int64_t> exit_code;
  std::optional<std::string> error;
  std::optional<int64_t> epochs;
  std::optional<int64_t> steps;
  std::optional<double> seconds;
  std::optional<int64_t> phase;
  std::optional<double> seconds_per_epoch;
  StepSpeed speed;
  std::optional<StalenessSummary> staleness;
  std::optional<std::vector<WorkerSummary>> workers;
  StepTraffic traffic;
  DeviceUse device;
  std::optional<int64_t> skipped_steps;
  std::optional<int64_t> skipped_updates;
  std::optional<StepTimes> phases_ms;
  std::optional<std::string> part;
  MetricValues metrics;
  std::optional<ValidationSummary> validation;
  RestartCost restart_cost;

  static const EventTable<RunEndEvent>& table();
};

// One of the two runs of a comparison.
struct ComparedRun {
  std::optional<std::string> strategy;
  std::optional<int64_t> replicas;
  std::optional<int64_t> global_batch;
  std::optional<double> seconds_per_epoch;
  StepSpeed speed;
  std::optional<std::string> part;
  MetricValues metrics;
  std::optional<ValidationSummary> validation;
  RestartCost restart_cost;

  static const EventTable<ComparedRun>& table();
};

struct ComparisonEvent : EventHead {
  std::optional<std::string> name;
  std::optional<std::string> dataset;
  std::optional<std::string> dataset_requested;
  std::optional<ComparedRun> baseline;
  std::optional<ComparedRun> distributed;
  std::optional<double> speedup;
  std::optional<double> scaling_efficiency;
  std::optional<double> overhead;
  std::optional<double> overhead_uncertainty;
  std::optional<std::string> verdict;

  static const EventTable<ComparisonEvent>& table();
};

// Sent from the replica to the supervisor, and not written.
struct ProgressEvent : EventHead {
  std::optional<int64_t> epoch;
  std::optional<int64_t> step;

  static const EventTable<ProgressEvent>& table();
};

// Likewise; carries numbers for the comparison.
struct OverheadEvent : EventHead {
  std::optional<int64_t> step;
  std::optional<int64_t> steps;
  std::optional<double> overhead;
  std::optional<double> uncertainty;

  static const EventTable<OverheadEvent>& table();
};

}  // namespace dtrain
