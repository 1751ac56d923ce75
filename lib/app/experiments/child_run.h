// `dtrain run` as a process of its own, for commands that make many runs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "processes/process.h"

namespace dtrain {

struct ChildRunEnd {
  ExitCode code = ExitCode::kDone;
  std::string reason;  // why it did not complete, in one line; empty if it did
};

class ChildRun {
 public:
  // Starts "dtrain run ARGUMENTS --quiet" with its output in `log`. `folder` is where the run will be. It
  // dies with the thread that calls this (processes/process.h). Throws Error if it cannot be started.
  ChildRun(const std::vector<std::string>& arguments, std::filesystem::path folder,
           std::filesystem::path log);

  // Passes on a signal, such as a stop signal: the run then saves a checkpoint if its spec says so.
  void tell(int signal) const { process_->tell(signal); }
  // How it ended; nullopt while it runs.
  std::optional<ChildRunEnd> ended();

 private:
  std::filesystem::path folder_;
  std::filesystem::path log_;
  std::unique_ptr<Process> process_;
};

// Waits for the run that `start` starts. `is_over` is asked often, and once more when the run has ended:
// whether nobody needs what comes later. Then the run is stopped. Returns how it ended: kDone also if
// `is_over` said so before, kStopped after a stop signal to this process.
ChildRunEnd run_until(const std::function<std::unique_ptr<ChildRun>()>& start,
                      const std::function<bool()>& is_over);

}  // namespace dtrain
