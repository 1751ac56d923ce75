#include "job/supervise_subcommand.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "core/files.h"
#include "core/signals.h"
#include "identity/identity.h"
#include "store/local_store.h"
#include "supervise/status_board.h"

namespace dtrain {
namespace {

constexpr auto kMeetingTimeout = std::chrono::seconds(60);

// Where the replicas write what nobody reads unless one fails; removed with what is in it.
class LogFolder {
 public:
  LogFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "dtrain-logs-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      const int error = errno;
      throw Error(file_failure_code(error),
                  fmt::format("cannot make the folder {}: {}", path, std::strerror(error)));
    }
    path_ = path;
  }
  ~LogFolder() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;
  void keep() { kept_ = true; }
  std::filesystem::path log_of(int rank) const { return path_ / fmt::format("rank{}.log", rank); }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace

SuperviseResult supervise_subcommand(const Subcommand& subcommand) {
  catch_stop_signals();
  const HostedLocalStore hosted = host_local_store(kMeetingTimeout);
  const auto board = StatusBoard::create(subcommand.replicas);
  LogFolder logs;
  std::vector<ReplicaProcess> processes;
  for (int rank = 0; rank < subcommand.replicas; ++rank) {
    const Identity identity = local_identity(rank, subcommand.replicas, hosted.name);
    processes.push_back({subcommand.arguments, replica_environment(identity, subcommand.threads),
                         logs.log_of(rank), kOwnProgram});
  }
  SuperviseOptions options;
  options.on_report = subcommand.on_report;
  const SuperviseResult result = supervise(processes, *board, options);
  if (result.code != ExitCode::kDone && result.code != ExitCode::kStopped) logs.keep();
  return result;
}

}  // namespace dtrain
