#include "train/supervised.h"

#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <memory>

#include "comm/local_store.h"
#include "core/signals.h"
#include "metrics/event.h"
#include "train/failure.h"

namespace dtrain {

ExitCode run_supervised(const std::function<void(const Identity&, StatusBoard&, ReportPipe&)>& body) {
  leave_write_errors_to_writers();
  ::prctl(PR_SET_NAME, "dtrain");  // the kernel took the name from kOwnProgram
  const auto pipe = ReportPipe::from_environment();
  const char* const by_hand = "replicas are started by dtrain, not by hand";
  if (!pipe) throw Error(ExitCode::kUsage, by_hand);
  try {
    const std::optional<Identity> identity = identity_from_environment();
    const auto board = board_from_environment();
    if (!identity || !board) throw Error(ExitCode::kUsage, by_hand);
    body(*identity, *board, *pipe);
    return ExitCode::kDone;
  } catch (...) {
    const Failure failure = describe_current_exception();
    pipe->write(event_text(
        Event{{"event", "failed"}, {"code", static_cast<int>(failure.code)}, {"message", failure.message}}));
    spdlog::error(failure.message);
    return failure.code;
  }
}

StorePtr connect_to_job(const Identity& identity, std::chrono::milliseconds timeout) {
  if (!identity.local_store.empty()) return connect_local_store(identity.local_store, timeout);
  return connect_store(identity.master_address, identity.master_port, timeout);
}

}  // namespace dtrain
