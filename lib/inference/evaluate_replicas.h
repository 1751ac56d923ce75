// Evaluating a checkpoint with several processes of this host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "inference/evaluation.h"
#include "supervise/supervisor.h"

namespace dtrain {

constexpr int64_t kMaxEvaluationReplicas = 64;

struct EvaluationJob {
  std::filesystem::path checkpoint;    // that is good
  std::vector<std::string> overrides;  // of its spec, without problems
  int64_t replicas = 1;
};

// Starts the replicas as processes of `program` (its hidden `eval-replica` subcommand) and fills in `sums`
// when all went well; what failed is told in the return value.
SuperviseResult supervise_evaluation(const EvaluationJob& evaluation, const std::string& program,
                                     EvaluationSums& sums);

// A replica process under supervise_evaluation.
ExitCode run_evaluation_replica(const EvaluationJob& evaluation);

// The same evaluation in this process alone.
EvaluationSums evaluate_alone(const JobPlan& job, const std::filesystem::path& checkpoint);

}  // namespace dtrain
