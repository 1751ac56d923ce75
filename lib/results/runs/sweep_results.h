// The measurements of a sweep's points, and their comparison.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/step_clock.h"
#include "metrics/event.h"

namespace dtrain {

// One repeat of a point.
struct SweepRun {
  std::string directory;  // the run's, within the sweep's directory
  double examples_per_second = 0;
  double step_ms = 0;
  StepTimes phases_ms;  // of rank 0's mean step
};

// One number of replicas with one batch size.
struct SweepPoint {
  int64_t replicas = 1;
  std::optional<int64_t> per_replica_batch;  // nullopt: the global batch is not divisible
  int64_t global_batch = 0;
  std::vector<SweepRun> runs;
  ExitCode exit_code = ExitCode::kDone;
  std::string error;  // one line; empty unless a run failed or could not be started
};

struct Sweep {
  std::string name;       // of the job
  std::string directory;  // has the runs' directories and the results; empty: not made yet
  bool strong = false;
  std::string strategy;
  std::string communication;
  std::string dataset;
  std::optional<std::string> dataset_requested;  // if `dataset` is a fallback for it
  int64_t parameters = 0;                        // 0: no point could be planned
  std::string dtype;
  int64_t threads_per_replica = 1;
  int64_t cores = 1;
  int64_t repeats = 1;
  int64_t steps = 0;          // timed steps in each run
  int64_t skipped_steps = 0;  // untimed steps before them
  std::vector<SweepPoint> points;
};

// The results of a point: medians over its runs.
struct SweepNumbers {
  double examples_per_second = 0;
  double lowest = 0;  // examples/s of the slowest run, and of the fastest
  double highest = 0;
  double step_ms = 0;
  StepTimes phases_ms;
  // Relative to the measured point with the same batch (weak: per replica, strong: global) and the fewest
  // replicas. `speedup` is the ratio of examples/s; `scaling_efficiency` is `speedup` divided by the ratio of
  // replicas; 1 is perfect.
  int64_t reference_replicas = 1;
  double speedup = 1;
  double scaling_efficiency = 1;
};

// The numbers of each point; nullopt if it failed or has not been measured yet.
std::vector<std::optional<SweepNumbers>> sweep_numbers(const Sweep& sweep);

// The batch that is constant along a line of the sweep, and its name: "per replica" or "global".
int64_t kept_batch(const Sweep& sweep, const SweepPoint& point);
std::string kept_batch_name(const Sweep& sweep);

// The contents of sweep.json.
Event sweep_document(const Sweep& sweep);
// Reads sweep.json. Throws Error(kUsage) if it cannot be read.
Sweep read_sweep(const std::filesystem::path& file);

}  // namespace dtrain
