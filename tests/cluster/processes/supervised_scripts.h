// What the supervisor's tests share: shell scripts as its replicas, and what came of them.
#pragma once

#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/signals.h"
#include "files.h"
#include "launch_helpers.h"
#include "processes/supervisor.h"

namespace dtrain {

using Lines = std::vector<std::string>;

struct Run {
  SuperviseResult result;
  std::vector<Lines> reports;  // by rank
  double seconds = 0;
};

inline Run run_replicas(const std::vector<ReplicaProcess>& replicas, StatusBoard& board,
                        SuperviseOptions options = {}) {
  Run run;
  run.reports.resize(replicas.size());
  const auto also = options.on_report;
  options.on_report = [&](int rank, const std::string& line) {
    run.reports.at(static_cast<size_t>(rank - options.first_rank)).push_back(line);
    if (also) also(rank, line);
  };
  const double start = steady_seconds();
  run.result = supervise(replicas, board, options);
  run.seconds = steady_seconds() - start;
  return run;
}

inline Run run_scripts(const TemporaryFolder& folder, const Lines& scripts,
                       const SuperviseOptions& options = {}) {
  return run_replicas(shell_replicas(folder, scripts), *StatusBoard::create(static_cast<int>(scripts.size())),
                      options);
}

// Shell that goes on once `file` is there.
inline std::string wait_for(const std::string& file) {
  return "while [ ! -e " + file + " ]; do sleep 0.02; done; ";
}

// Makes `file` when `count` reports have come in.
inline std::function<void(int, const std::string&)> make_after(int count, const std::string& file) {
  return [count, file](int, const std::string&) mutable {
    if (--count == 0) std::ofstream(file) << "x";
  };
}

// Neither running nor a zombie.
inline bool is_gone(const std::string& pid) { return ::kill(std::stoi(pid), 0) == -1 && errno == ESRCH; }

// Puts the handling of a signal back.
class HandlerGuard {
 public:
  explicit HandlerGuard(int signal) : signal_(signal) { ::sigaction(signal, nullptr, &before_); }
  ~HandlerGuard() { ::sigaction(signal_, &before_, nullptr); }
  HandlerGuard(const HandlerGuard&) = delete;
  HandlerGuard& operator=(const HandlerGuard&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

// catch_stop_signals() until the end of the test.
struct StopSignals {
  StopSignals() { catch_stop_signals(); }
  HandlerGuard interrupt{SIGINT}, terminate{SIGTERM}, hangup{SIGHUP}, pipe{SIGPIPE};
};

}  // namespace dtrain
