#include <fmt/format.h>

#include "comm/store.h"
#include "core/signals.h"
#include "launch/identity.h"
#include "launch/supervisor.h"
#include "train/failure.h"
#include "train/job.h"

namespace dtrain {
namespace {

std::vector<ReplicaProcess> replica_processes(const RunPlan& run, const RunDirectory& directory,
                                              const std::string& program, uint16_t store_port) {
  std::vector<ReplicaProcess> processes;
  for (int64_t rank = 0; rank < run.replicas; ++rank) {
    ReplicaProcess process;
    process.program = kOwnProgram;
    process.arguments = {program, "replica", directory.spec_file().string(), "--run", run.run};
    process.environment =
        replica_environment(local_identity(rank, run.replicas, store_port), run.threads_per_replica);
    process.log = directory.logs() / fmt::format("{}-rank{}.log", run.run, rank);
    processes.push_back(std::move(process));
  }
  return processes;
}

// Starts and watches the replicas of one run.
SuperviseResult supervise_run(const JobPlan& job, const RunPlan& run, const std::string& program,
                              RunOutput& output, int stop_signals_before) {
  const auto timeout =
      std::chrono::milliseconds(static_cast<int64_t>(job.spec.strategy.timeout_seconds * 1000));
  const HostedStore hosted = host_store("127.0.0.1", 0, timeout);
  const auto board = StatusBoard::create(static_cast<int>(run.replicas));
  SuperviseOptions options;
  options.on_report = [&output](int rank, const std::string& line) {
    const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
    if (rank == 0 && event.is_object() && text_at(event, "event").value_or("failed") != "failed") {
      output.on_event(event);
    }
  };
  options.on_tick = [&output] { output.on_tick(); };
  options.stop_signals_before = stop_signals_before;
  return supervise(replica_processes(run, output.directory(), program, hosted.port), *board, options);
}

}  // namespace

JobResult supervise_job(const JobPlan& job, const OutputOptions& options, const std::string& program,
                        std::ostream& out) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  RunOutput output(job, options, out);
  for (const RunPlan& run : job.runs) {
    SuperviseResult result;
    try {
      result = supervise_run(job, run, program, output, signals_before);
    } catch (...) {  // nothing could be started or written: no replica's fault
      const Failure failure = describe_current_exception();
      result.code = failure.code;
      result.message = failure.message;
      result.reason = failure.message.substr(0, failure.message.find('\n'));
    }
    if (result.code == ExitCode::kDone) continue;
    output.fail(run, result.stop_signal != 0 ? "stopped" : "failed", result.code, result.message);
    return {result.code, result.message, result.reason, output.summary()};
  }
  output.finish(job);
  return {ExitCode::kDone, "", "", output.summary()};
}

}  // namespace dtrain
