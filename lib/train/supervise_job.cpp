#include <fmt/format.h>

#include "comm/store.h"
#include "core/signals.h"
#include "launch/supervisor.h"
#include "train/job.h"

namespace dtrain {
namespace {

using nlohmann::json;

std::vector<ReplicaProcess> replica_processes(const RunPlan& run, const RunDirectory& directory,
                                              const std::string& program, uint16_t store_port) {
  std::vector<ReplicaProcess> processes;
  const std::string world = std::to_string(run.replicas);
  for (int64_t rank = 0; rank < run.replicas; ++rank) {
    ReplicaProcess process;
    process.arguments = {program, "replica", directory.spec_file().string(), "--run", run.run};
    process.environment = {
        {"RANK", std::to_string(rank)},
        {"LOCAL_RANK", std::to_string(rank)},
        {"WORLD_SIZE", world},
        {"LOCAL_WORLD_SIZE", world},
        {"MASTER_ADDR", "127.0.0.1"},
        {"MASTER_PORT", std::to_string(store_port)},
        {"TORCHELASTIC_USE_AGENT_STORE", "True"},  // the store is ours
        {"OMP_NUM_THREADS", std::to_string(run.threads_per_replica)},
    };
    process.log = directory.logs() / fmt::format("{}-rank{}.log", run.run, rank);
    processes.push_back(std::move(process));
  }
  return processes;
}

// Starts and watches the replicas of one run.
SuperviseResult supervise_run(const JobPlan& job, const RunPlan& run, const std::string& program,
                              RunOutput& output) {
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
    if (stop_signals_received() > signals_before) {  // it came between two runs
      result = {ExitCode::kStopped, -1, "stopped before the " + run.run + " run", last_stop_signal()};
    } else {
      result = supervise_run(job, run, program, output);
    }
    if (result.code == ExitCode::kDone) continue;
    output.fail(result.stop_signal != 0 ? "stopped" : "failed", result.code, result.message);
    return {result.code, result.message};
  }
  output.finish(job);
  return {};
}

}  // namespace dtrain
