// Evaluates a checkpoint with several processes on this host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "inference/evaluation.h"
#include "processes/supervisor.h"

namespace dtrain {

constexpr int64_t kMaxEvaluationReplicas = 64;

struct EvaluationJob {
  std::filesystem::path checkpoint;  // already verified
  Overrides overrides;               // overrides of its spec, without problems
  int64_t replicas = 1;
  std::string split = "test";  // the part of the data: as load_examples() takes it
  int64_t mistakes = 0;        // how many of the worst to tell; of models of classes alone
  std::string best_by = {};    // the metric by which the checkpoint is the best of its run; empty: it was
                               // not chosen so
};

// Starts the replicas as processes of `program` (its hidden `eval-replica` subcommand). Fills in `sums` if
// all succeed; the return value reports what failed.
SuperviseResult supervise_evaluation(const EvaluationJob& evaluation, const std::string& program,
                                     EvaluationSums& sums);

// Runs one replica process of supervise_evaluation().
ExitCode run_evaluation_replica(const EvaluationJob& evaluation);

// The same evaluation in this process alone. `job`: that of the checkpoint.
EvaluationSums evaluate_alone(const EvaluationJob& evaluation, const JobPlan& job);

}  // namespace dtrain
