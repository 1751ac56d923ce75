// What the points of a sweep measured, and how they compare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/phase_clock.h"
#include "metrics/event.h"

namespace dtrain {

// One repeat of a point.
struct SweepRun {
  std::string directory;  // of the run, within the sweep's
  double examples_per_second = 0;
  double step_ms = 0;
  PhaseTimes phases_ms;  // of a mean step of rank 0
};

// One number of replicas with one batch size.
struct SweepPoint {
  int64_t replicas = 1;
  std::optional<int64_t> per_replica_batch;  // nullopt: the global batch does not divide
  int64_t global_batch = 0;
  std::vector<SweepRun> runs;
  ExitCode exit_code = ExitCode::kDone;
  std::string error;  // one line; empty unless a run failed or could not be made
};

struct Sweep {
  std::string name;       // of the job
  std::string directory;  // that holds the runs' directories and the results; empty: not made yet
  bool strong = false;
  std::string strategy;
  std::string communication;
  std::string dataset;
  std::optional<std::string> dataset_requested;  // when `dataset` is a fallback for it
  int64_t parameters = 0;                        // 0: no point could be planned
  std::string dtype;
  int64_t threads_per_replica = 1;
  int64_t cores = 1;
  int64_t repeats = 1;
  int64_t steps = 0;          // timed in each run
  int64_t skipped_steps = 0;  // before them
  std::vector<SweepPoint> points;
};

// What a point comes to: medians over its runs.
struct SweepNumbers {
  double examples_per_second = 0;
  double lowest = 0;  // examples/s of the slowest and the fastest run
  double highest = 0;
  double step_ms = 0;
  PhaseTimes phases_ms;
  // Against the point of the same batch (weak: per replica, strong: global) with the fewest replicas that
  // were measured: examples/s by examples/s, and that by replicas by replicas; 1 is perfect.
  int64_t reference_replicas = 1;
  double speedup = 1;
  double scaling_efficiency = 1;
};

// For each point, or nullopt when it failed or has not been measured yet.
std::vector<std::optional<SweepNumbers>> sweep_numbers(const Sweep& sweep);

// The batch that stays along a line of the sweep, and "per replica" or "global".
int64_t kept_batch(const Sweep& sweep, const SweepPoint& point);
std::string kept_batch_name(const Sweep& sweep);

// What sweep.json holds.
Event sweep_document(const Sweep& sweep);

}  // namespace dtrain
