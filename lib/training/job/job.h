// Runs a whole job: the baseline, the distributed run and their comparison.
#pragma once

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "core/error.h"
#include "job/host_links.h"
#include "job/run_output.h"
#include "launch/identity.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "processes/supervisor.h"

namespace dtrain {

// How a job ended. Unless the code is kDone, `message` says why in lines for people, and `reason` in one.
struct JobResult {
  ExitCode code = ExitCode::kDone;
  std::string message;
  std::string reason;
  Event summary = {};  // what summary.json holds
};

// Supervises: finds what to resume from if the options ask for it, starts the replicas of each run as
// processes of `program` (its hidden `replica` subcommand), relays their events, and returns how it ended.
// With `hosts`, the job has several hosts and this is the first: it waits for the others, and tells them how
// the job ended. Throws Error if they cannot meet or the run's folder cannot be made.
JobResult supervise_job(const JobPlan& job, const OutputOptions& options, const std::string& program,
                        std::ostream& out, const std::optional<JobHosts>& hosts = {});

// The same on any other host: supervises the replicas here, which write their logs into a folder `host-N` of
// the run's folder. Returns the first host's result, so that all hosts return the same.
JobResult supervise_job_elsewhere(const JobPlan& job, const OutputOptions& options,
                                  const std::string& program, const JobHosts& hosts);

// A replica process under supervise_job: takes part in the run named `run` of the job whose plan the
// supervisor wrote to `plan`. Reports its failure to the supervisor.
ExitCode run_supervised_replica(const std::filesystem::path& plan, const std::string& run,
                                const RunContext& context);

// One of the processes that a launcher such as torchrun started, on one host or more: all of them take part
// in the distributed run; rank 0 also trains the baseline, writes the folder and prints.
JobResult run_launched_replica(const JobPlan& job, Identity identity, const OutputOptions& options,
                               const MeetingOptions& meeting, std::ostream& out);

// Makes the processes of a run take part in it: it starts them, or it is one of them.
class RunLauncher {
 public:
  virtual ~RunLauncher() = default;
  // Blocks until the run has ended, and returns how. Exceptions are failures of the run.
  virtual SuperviseResult train(const RunPlan& run) = 0;
  // The job has ended with `result`: tells the others that take part.
  virtual void dismiss(const SuperviseResult& result) = 0;
};

// Trains the job's runs in order, except those that a resumed job does not repeat, until one does not
// complete. Then tells `output` (nullptr: this process has none) how the job ended, then the others.
JobResult run_job(const JobPlan& job, bool resumes, RunLauncher& launcher, RunOutput* output);

}  // namespace dtrain
