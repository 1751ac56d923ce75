#include "job/replica_process.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/signals.h"
#include "core/stack_reporter.h"
#include "core/text.h"
#include "store/describe_exception.h"
#include "store/local_store.h"

namespace dtrain {

std::string describe_replica(const Identity& identity, const StatusBoard& board) {
  return fmt::format("rank {}, process {}: {}", identity.rank, ::getpid(),
                     describe_status(board.get(identity.local_rank), steady_seconds()));
}

Dataset planned_dataset(const JobPlan& job) {
  Dataset dataset = load_dataset(job.spec.data, static_cast<uint64_t>(job.spec.seed));
  const DatasetInfo &found = dataset.info, &planned = job.data;
  if (found.name == planned.name && found.example_shape == planned.example_shape &&
      found.classes == planned.classes && found.targets == planned.targets &&
      dataset.train->size() == planned.train_examples &&
      found.validation_examples == planned.validation_examples &&
      dataset.test->size() == planned.test_examples && found.bad.names == planned.bad.names &&
      found.content == planned.content)
    return dataset;
  throw Error(ExitCode::kData,
              "the data has changed since the job was planned: {} in {}, {}, then; now {} in {}, {}",
              planned.name, printable(planned.source), fingerprint_of(planned), found.name,
              printable(found.source), fingerprint_of(found));
}

ExitCode run_supervised(const std::function<void(const Identity&, StatusBoard&, ReportPipe&)>& body) {
  leave_write_errors_to_writers();
  catch_save_requests();
  ::prctl(PR_SET_NAME, "dtrain");  // the kernel took the name from kOwnProgram
  const auto pipe = ReportPipe::from_environment();
  const char* const by_hand = "replicas are started by dtrain, not by hand";
  if (!pipe) throw Error(ExitCode::kUsage, by_hand);
  try {
    const std::optional<Identity> identity = identity_from_environment();
    const auto board = board_from_environment();
    if (!identity || !board) throw Error(ExitCode::kUsage, by_hand);
    const StackReporter reporter([&] { return describe_replica(*identity, *board); });
    body(*identity, *board, *pipe);
    return ExitCode::kDone;
  } catch (...) {
    const Failure failure = describe_current_exception();
    Event report{{"event", "failed"}, {"code", static_cast<int>(failure.code)}, {"message", failure.message}};
    if (failure.code == ExitCode::kStopped && last_stop_signal() != 0) report["signal"] = last_stop_signal();
    pipe->write(event_text(report));
    spdlog::error(failure.message);
    return failure.code;
  }
}

StorePtr connect_to_job(const Identity& identity, std::chrono::milliseconds timeout) {
  if (!identity.local_store.empty()) return connect_local_store(identity.local_store, timeout);
  return connect_store(identity.master_address, identity.master_port, timeout);
}

}  // namespace dtrain
