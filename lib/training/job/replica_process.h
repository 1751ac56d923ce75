// Replicas as processes: what all of them do, for every way to start them, and starting and watching those of
// this host.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/dataset.h"
#include "launch/identity.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "processes/report.h"
#include "processes/status_board.h"
#include "processes/supervisor.h"
#include "runs/run_directory.h"
#include "store/store.h"

namespace dtrain {

// For replicas whose events nobody reads.
class NullSink : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

// "rank 1, process 4711: computing at step 120 for 0.2 s"
std::string describe_replica(const Identity& identity, const StatusBoard& board);

// Loads the job's data. Throws Error(kData) if they are not those for which the job was planned: the files
// may have changed since, or others be found.
Dataset planned_dataset(const JobPlan& job);

// Runs `body` with what the supervisor gave this process. Reports a failure to the supervisor, logs it, and
// returns its exit code. Meanwhile SIGUSR1 is counted (core/signals.h), and SIGQUIT makes the process report
// what it is doing (core/stack_reporter.h). Throws Error(kUsage) if there is no supervisor.
ExitCode run_supervised(const std::function<void(const Identity&, StatusBoard&, ReportPipe&)>& body);

// Connects to the store that the supervisor serves: the one on this host, or the first host's if there are
// several. Throws as connect_store() and connect_local_store() do.
StorePtr connect_to_job(const Identity& identity, std::chrono::milliseconds timeout);

constexpr double kSaveSeconds = 600;  // after a stop signal; a second one does not wait

struct LocalReplicas {
  std::vector<Identity> identities;  // of consecutive ranks
  // Gets the events of rank 0, if rank 0 is on this host.
  std::function<void(const Event&)> on_event = [](const Event&) {};
  std::function<void(const Event&)> on_failed = [](const Event&) {};  // its last one, when it fails
  SuperviseOptions watching = {};         // without on_report and first_rank, which the others decide
  bool resumes = false;                   // from a checkpoint
  std::filesystem::path checkpoint = {};  // which one; empty where rank 0, which reads it, is on another host
  int64_t restart = 0;  // how often the run was started before: each time has logs of its own
};

// Writes the plan into `directory`, where the replicas read it, and their logs too. Blocks until all have
// ended (processes/supervisor.h). An exception is a result, too: the run may be restarted after it.
SuperviseResult supervise_replicas(const JobPlan& job, const RunPlan& run, const RunDirectory& directory,
                                   const std::string& program, const LocalReplicas& replicas);

// An exception being handled, as the end of a run: no replica's fault, nothing could be started or written.
SuperviseResult describe_supervising_failure();

// Several processes of a hidden subcommand on this host, for commands that need replicas but are not a run.
struct Subcommand {
  std::vector<std::string> arguments;  // argv; [0] is the program's path. Its body is run_supervised()
  int replicas = 1;
  int64_t threads = 1;  // of each
  // A line that a replica reported (processes/supervisor.h).
  std::function<void(int rank, const std::string& line)> on_report;
};

// Starts the processes with a store to meet at, and watches them until all have ended. Their logs are in a
// temporary folder, which is kept only if a process fails; the message then names its log.
SuperviseResult supervise_subcommand(const Subcommand& subcommand);

}  // namespace dtrain
