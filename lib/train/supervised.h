// A process that runs under supervise() (launch/supervisor.h).
#pragma once

#include <chrono>
#include <functional>

#include "comm/store.h"
#include "core/error.h"
#include "launch/identity.h"
#include "launch/report.h"
#include "launch/status_board.h"

namespace dtrain {

// Runs `body` with what the supervisor gave this process. A failure of it is reported to the supervisor and
// logged; returns its code. Throws Error(kUsage) when there is no supervisor.
ExitCode run_supervised(const std::function<void(const Identity&, StatusBoard&, ReportPipe&)>& body);

// Connects to the store that the supervisor of this process serves or, of several hosts, that of the first.
// Throws as connect_store() and connect_local_store() do.
StorePtr connect_to_job(const Identity& identity, std::chrono::milliseconds timeout);

}  // namespace dtrain
