// Several processes of a hidden subcommand on this host, for commands that need replicas but are not a run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "processes/supervisor.h"

namespace dtrain {

struct Subcommand {
  std::vector<std::string> arguments;  // argv; [0] is the program's path. Its body is run_supervised()
  int replicas = 1;
  int64_t threads = 1;  // of each
  // A line that a replica reported (processes/supervisor.h).
  std::function<void(int rank, const std::string& line)> on_report;
};

// Starts the processes with a store to meet at, and watches them until all have ended. Their logs are in a
// temporary folder, which is kept only if a process fails; the message then names its log.
SuperviseResult supervise_subcommand(const Subcommand& subcommand);

}  // namespace dtrain
