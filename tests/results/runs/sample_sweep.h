// Sweeps with round numbers.
#pragma once

#include "runs/sweep_results.h"

namespace dtrain {

inline SweepRun sweep_run(double examples_per_second, double step_ms) {
  SweepRun run{"replicas-1-batch-64-run-1", examples_per_second, step_ms, {}};
  run.phases_ms[StepTime::kDataWait] = 0.125;
  run.phases_ms[StepTime::kCompute] = step_ms / 2;
  run.phases_ms[StepTime::kCommunicate] = 0.25;
  run.phases_ms[StepTime::kUpdate] = 0.0625;
  run.phases_ms[StepTime::kWaitForPeers] = 0;
  return run;
}

inline SweepPoint sweep_point(int64_t replicas, int64_t per_replica_batch, std::vector<SweepRun> runs) {
  SweepPoint point;
  point.replicas = replicas;
  point.per_replica_batch = per_replica_batch;
  point.global_batch = replicas * per_replica_batch;
  point.runs = std::move(runs);
  return point;
}

inline SweepPoint failed_point(int64_t replicas, int64_t global_batch, ExitCode code,
                               const std::string& error) {
  SweepPoint point;
  point.replicas = replicas;
  point.global_batch = global_batch;
  point.exit_code = code;
  point.error = error;
  return point;
}

// Weak, batches of 64 per replica, 1 and 2 replicas measured three times, 4 replicas failed in their first
// run.
inline Sweep sample_sweep() {
  Sweep sweep;
  sweep.name = "mnist_mirrored";
  sweep.directory = "runs/mnist_mirrored-sweep";
  sweep.strategy = "mirrored";
  sweep.communication = "auto";
  sweep.dataset = "mnist";
  sweep.parameters = 235146;
  sweep.dtype = "float32";
  sweep.threads_per_replica = 1;
  sweep.cores = 2;
  sweep.repeats = 3;
  sweep.steps = 300;
  sweep.skipped_steps = 10;
  sweep.points = {
      sweep_point(1, 64, {sweep_run(64000, 1), sweep_run(60000, 1.0625), sweep_run(65000, 0.9375)}),
      sweep_point(2, 64, {sweep_run(96000, 1.25), sweep_run(90000, 1.5), sweep_run(100000, 1.125)}),
      failed_point(4, 256, ExitCode::kPeerLost, "rank 3 failed first: killed by SIGKILL, \"out of memory\"")};
  sweep.points[2].per_replica_batch = 64;
  return sweep;
}

}  // namespace dtrain
