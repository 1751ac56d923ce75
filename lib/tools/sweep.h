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
  std::vector<int64_t> replicas = {};  // at least one; ascending, each once
  // Of a replica (weak) or global (strong); ascending, each once; empty: what the spec has.
  std::vector<int64_t> batches = {};
  bool strong = false;  // the global batch stays; otherwise that of each replica does
  int64_t repeats = 3;
  int64_t steps = 300;  // timed in each run, after the spec's metrics.skip_steps
};

struct PlannedSweep {
  Sweep sweep;  // its points by batch, then by replicas; those that cannot be made have an error
  std::vector<JobPlan> jobs;  // of the points, in their order; usable where the point has no error
};

// The jobs of a sweep of `spec`, which is valid: only the distributed run, of so many steps, evaluated on a
// single example. All points have the same threads per replica: the spec's, or else the cores divided by the
// largest number of replicas. Without `batches`, the batch is what the spec has at the smallest number of
// replicas; throws Error(kUsage) when that does not divide.
PlannedSweep plan_sweep(const JobSpec& spec, const DatasetInfo& data, const SweepOptions& options);

// Makes the runs, one after the other, each as a supervised job of `program` with a folder of its own in
// planned.sweep.directory: the first repeat of every point, then the second, because machines drift. A point
// that fails is not repeated. After each run sweep.csv, sweep.json and sweep.svg there are up to date, and
// `progress` has a line about it. Returns kStopped when a signal ended it (the rest is not measured),
// otherwise the exit code of the first point that failed, or kDone. Throws Error when something
// cannot be written.
ExitCode run_sweep(PlannedSweep& planned, const std::string& program, std::ostream& progress);

}  // namespace dtrain
