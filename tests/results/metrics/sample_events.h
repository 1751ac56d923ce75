// The events of one run of each kind, as the trainer sends them (without times), with round numbers.
#pragma once

#include "metrics/event.h"

namespace dtrain {

inline Event run_start(const std::string& run, int64_t replicas) {
  Event devices = Event::array();
  for (int64_t replica = 0; replica < replicas; ++replica) devices.push_back("cpu");
  return {{"event", "run_start"},
          {"run", run},
          {"name", "mnist_mirrored"},
          {"strategy", replicas == 1 ? "one_device" : "mirrored"},
          {"replicas", replicas},
          {"devices", devices},
          {"threads_per_replica", 1},
          {"global_batch", 128},
          {"per_replica_batch", 128 / replicas},
          {"accumulate_steps", 1},
          {"learning_rate", 0.002},
          {"learning_rate_derivation", "0.001 x 128/64 (linear) = 0.002"},
          {"steps_per_epoch", 469},
          {"epochs", 2},
          {"total_steps", 938},
          {"train_examples", 60000},
          {"test_examples", 10000},
          {"dataset", "fashion_mnist"},
          {"dataset_source", "data/fashion_mnist"},
          {"dataset_requested", "mnist"},
          {"parameters", 235146},
          {"dtype", "float32"},
          {"seed", 42},
          {"skipped_steps", 10},
          {"dtrain", "0.1.0"},
          {"libtorch", "2.11.0"}};
}

inline Event step(const std::string& run, int64_t epoch, int64_t step) {
  return {{"event", "step"}, {"run", run},         {"epoch", epoch},         {"step", step},
          {"loss", 0.25},    {"accuracy", 0.9375}, {"learning_rate", 0.002}, {"examples_per_second", 64000.0},
          {"step_ms", 2.0}};
}

inline Event progress(const std::string& run, int64_t epoch, int64_t step) {
  return {{"event", "progress"}, {"run", run}, {"epoch", epoch}, {"step", step}};
}

inline Event epoch(const std::string& run, int64_t epoch) {
  return {{"event", "epoch"},       {"run", run},
          {"epoch", epoch},         {"steps", 469},
          {"examples", 60000},      {"seconds", 0.96},
          {"loss", 0.3125},         {"accuracy", 0.9},
          {"learning_rate", 0.002}, {"examples_per_second", 64000.0},
          {"step_ms", 2.0}};
}

inline Event eval(const std::string& run, int64_t epoch) {
  return {{"event", "eval"}, {"run", run},        {"epoch", epoch},    {"step", 469 * epoch},
          {"loss", 0.0715},  {"accuracy", 0.976}, {"examples", 10000}, {"seconds", 0.125}};
}

// The evaluation of a part ("validation", "test"), with data.split.
inline Event eval_of(const std::string& part, const std::string& run, int64_t epoch, double loss,
                     double accuracy) {
  Event event = eval(run, epoch);
  event["part"] = part;
  event["loss"] = loss;
  event["accuracy"] = accuracy;
  return event;
}

inline Event run_end(const std::string& run) {
  return {{"event", "run_end"},
          {"run", run},
          {"status", "completed"},
          {"exit_code", 0},
          {"epochs", 2},
          {"steps", 938},
          {"seconds", 2.25},
          {"seconds_per_epoch", 0.96},
          {"examples_per_second", 64000.0},
          {"step_ms", 2.0},
          {"skipped_steps", 10},
          {"loss", 0.0715},
          {"accuracy", 0.976}};
}

// The end of a run with a validation part, whose test came to `accuracy`.
inline Event split_run_end(const std::string& run, double accuracy) {
  Event event = run_end(run);
  event["part"] = "test";
  event["accuracy"] = accuracy;
  event["validation"] = {{"loss", 0.05}, {"accuracy", 0.99}};
  return event;
}

}  // namespace dtrain
