#include "job/replica_process.h"

#include <fmt/format.h>

#include <chrono>

#include "core/files.h"
#include "core/signals.h"
#include "processes/status_board.h"
#include "store/describe_exception.h"
#include "store/local_store.h"

namespace dtrain {

SuperviseResult supervise_replicas(const JobPlan& job, const RunPlan& run, const RunDirectory& directory,
                                   const std::string& program, const LocalReplicas& replicas) try {
  write_plan(directory.plan_file(), job);
  std::vector<ReplicaProcess> processes;
  for (const Identity& identity : replicas.identities) {
    const Role role = role_of(identity.rank, run.replicas, run.servers);
    ReplicaProcess process;
    process.name = role.name;
    // The others go on without a worker, but not without the one that evaluates and reports.
    process.expendable = run.is_asynchronous() && !role.serves && role.number > 0;
    if (process.expendable) process.restarts = static_cast<int>(run.worker_restarts);
    process.program = kOwnProgram;
    process.arguments = {program,    "replica",  directory.plan_file().string(), "--run",
                         run.name(), "--folder", directory.path().string()};
    if (replicas.resumes) process.arguments.push_back("--resume");
    if (!replicas.checkpoint.empty())
      process.arguments.insert(process.arguments.end(), {"--checkpoint", replicas.checkpoint.string()});
    process.environment = replica_environment(identity, run.threads_per_replica);
    // "distributed-rank1.log", when the run is started for the third time "distributed-rank1.attempt3.log"
    std::string log = fmt::format("{}-{}", run.name(), role.name);
    std::erase(log, ' ');
    if (replicas.restart > 0) log += fmt::format(".attempt{}", replicas.restart + 1);
    process.log = directory.logs() / (log + ".log");
    processes.push_back(std::move(process));
  }
  const auto board = StatusBoard::create(static_cast<int>(processes.size()));
  SuperviseOptions options = replicas.watching;
  options.on_report = [&replicas](int rank, const std::string& line) {
    const Event event = Event::parse(line, nullptr, /*allow_exceptions=*/false);
    if (rank != 0 || !event.is_object()) return;
    const bool failed = text_at(event, "event").value_or("failed") == "failed";
    (failed ? replicas.on_failed : replicas.on_event)(event);
  };
  options.first_rank = replicas.identities.front().rank;
  return supervise(processes, *board, options);
} catch (...) {
  return describe_supervising_failure();
}

SuperviseResult describe_supervising_failure() {
  const Failure failure = describe_current_exception();
  return {.code = failure.code,
          .message = failure.message,
          .reason = failure.message.substr(0, failure.message.find('\n')),
          .evidence = Evidence::kFailedItself};
}

SuperviseResult supervise_subcommand(const Subcommand& subcommand) {
  catch_stop_signals();
  const HostedLocalStore hosted = host_local_store(std::chrono::seconds(60));
  const auto board = StatusBoard::create(subcommand.replicas);
  ScratchFolder logs("dtrain-logs");  // what nobody reads unless a process fails
  std::vector<ReplicaProcess> processes;
  for (int rank = 0; rank < subcommand.replicas; ++rank) {
    const Identity identity = local_identity(rank, subcommand.replicas, hosted.name);
    processes.push_back({subcommand.arguments, replica_environment(identity, subcommand.threads),
                         logs.path() / fmt::format("rank{}.log", rank), kOwnProgram});
  }
  SuperviseOptions options;
  options.on_report = subcommand.on_report;
  const SuperviseResult result = supervise(processes, *board, options);
  if (result.code != ExitCode::kDone && result.code != ExitCode::kStopped) logs.keep();
  return result;
}

}  // namespace dtrain
