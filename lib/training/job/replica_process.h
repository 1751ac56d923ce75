// The common part of a run's processes, for every way to start them.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/error.h"
#include "data/dataset.h"
#include "launch/identity.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "processes/report.h"
#include "processes/status_board.h"
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

}  // namespace dtrain
