#include "job/supervise_subcommand.h"

#include <fmt/format.h>

#include <chrono>

#include "core/files.h"
#include "core/signals.h"
#include "launch/identity.h"
#include "processes/status_board.h"
#include "store/local_store.h"

namespace dtrain {
namespace {

constexpr auto kMeetingTimeout = std::chrono::seconds(60);

}  // namespace

SuperviseResult supervise_subcommand(const Subcommand& subcommand) {
  catch_stop_signals();
  const HostedLocalStore hosted = host_local_store(kMeetingTimeout);
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
