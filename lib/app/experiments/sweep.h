// A sweep: the same job with several numbers of replicas and batch sizes, to see how it scales.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/dataset.h"
#include "plan/job_plan.h"
#include "runs/sweep_results.h"

namespace dtrain {

struct SweepOptions {
  std::vector<int64_t> replicas = {};  // at least one; ascending, without duplicates
  // Of each replica (weak) or global (strong). Ascending, without duplicates; empty: as in the spec.
  std::vector<int64_t> batches = {};
  bool strong = false;  // true: the global batch stays the same; false: the batch of each replica does
  int64_t repeats = 3;
  int64_t steps = 300;  // timed in each run, after the spec's metrics.skip_steps
};

struct PlannedSweep {
  Sweep sweep;                // its points by batch, then by replicas; those that cannot run have an error
  std::vector<JobPlan> jobs;  // for each point, in order; usable if the point has no error
};

// The jobs of a sweep of `spec`, which must be valid. Each has only the distributed run, with options.steps
// steps, and evaluates a single example. All points use the same number of threads per replica: the spec's,
// or else the cores divided by the largest number of replicas. Without `batches`, the batch is that of the
// spec at the smallest number of replicas; throws Error(kUsage) if that does not divide evenly, and for
// virtual replicas without `strong`: their global batch is the same with any number of replicas.
PlannedSweep plan_sweep(const JobSpec& spec, const DatasetInfo& data, const SweepOptions& options);

// Runs the sweep: one run after the other, each as a supervised job of `program` with its own folder in
// planned.sweep.directory. The first repeat of every point comes first, then the second, because the speed of
// a machine drifts. A point that fails is not repeated. After each run, sweep.csv, sweep.json and sweep.svg
// in that directory are up to date, and `progress` gets a line. Returns kStopped if a signal ended the sweep
// (the rest is not measured), otherwise the exit code of the first point that failed, or kDone. Throws Error
// if something cannot be written.
ExitCode run_sweep(PlannedSweep& planned, const std::string& program, std::ostream& progress);

}  // namespace dtrain
