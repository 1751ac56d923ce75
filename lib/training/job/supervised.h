// A process that runs under supervise() (processes/supervisor.h).
#pragma once

#include <chrono>
#include <functional>

#include "core/error.h"
#include "launch/identity.h"
#include "processes/report.h"
#include "processes/status_board.h"
#include "store/store.h"

namespace dtrain {

// Runs `body` with what the supervisor gave this process. Reports a failure to the supervisor, logs it, and
// returns its exit code. Meanwhile SIGUSR1 is counted (core/signals.h), and SIGQUIT makes the process report
// what it is doing (core/stack_reporter.h). Throws Error(kUsage) if there is no supervisor.
ExitCode run_supervised(const std::function<void(const Identity&, StatusBoard&, ReportPipe&)>& body);

// Connects to the store that the supervisor serves: the one on this host, or the first host's if there are
// several. Throws as connect_store() and connect_local_store() do.
StorePtr connect_to_job(const Identity& identity, std::chrono::milliseconds timeout);

}  // namespace dtrain
