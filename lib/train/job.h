// Runs a whole job: the baseline, the distributed run and their comparison.
#pragma once

#include <ostream>
#include <string>

#include "core/error.h"
#include "launch/identity.h"
#include "train/job_plan.h"
#include "train/run_output.h"

namespace dtrain {

// Supervises: starts the replicas of each run as processes of `program` (its hidden `replica` subcommand),
// relays their events, and returns how it ended. When that is not kDone, `message` says why in lines for
// people, and `reason` in one.
struct JobResult {
  ExitCode code = ExitCode::kDone;
  std::string message;
  std::string reason;
  Event summary;  // what summary.json holds
};
JobResult supervise_job(const JobPlan& job, const OutputOptions& options, const std::string& program,
                        std::ostream& out);

// A replica process under supervise_job: takes part in the run named `run`. Reports its failure to the
// supervisor.
ExitCode run_supervised_replica(LoadedSpec& loaded, const std::string& run);

// One of the processes that a launcher such as torchrun started: all of them take part in the distributed
// run; rank 0 also trains the baseline, writes the folder and prints.
void run_launched_replica(const JobPlan& job, const Identity& identity, const OutputOptions& options,
                          std::ostream& out);

}  // namespace dtrain
