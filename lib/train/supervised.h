// A process that runs under supervise() (launch/supervisor.h).
#pragma once

#include <functional>

#include "core/error.h"
#include "launch/identity.h"
#include "launch/report.h"
#include "launch/status_board.h"

namespace dtrain {

// Runs `body` with what the supervisor gave this process. A failure of it is reported to the supervisor and
// logged; returns its code. Throws Error(kUsage) when there is no supervisor.
ExitCode run_supervised(const std::function<void(const Identity&, StatusBoard&, ReportPipe&)>& body);

}  // namespace dtrain
