// Runs a command on another host, by ssh.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

class RemoteCommand {
 public:
  // Starts `ssh` from PATH, without a local shell; the remote shell gets every argument quoted. `host` must
  // satisfy is_host() (host/hosts.h). `input`, at most a few kilobytes, becomes the command's standard input.
  // Throws Error(kUsage) if ssh is not installed, and Error(kMemory) if there is no room for a process.
  RemoteCommand(const std::string& host, const std::vector<std::string>& arguments,
                const std::optional<std::string>& ssh_configuration, const std::string& input);
  ~RemoteCommand();  // ends ssh
  RemoteCommand(const RemoteCommand&) = delete;
  RemoteCommand& operator=(const RemoteCommand&) = delete;

  struct Result {
    int exit_code = 0;   // 255: ssh itself failed; 128 + N: signal N; -1: not finished in time
    std::string output;  // at most 1 MiB, as are the errors
    std::string errors;
  };
  // Waits for at most `seconds`, or until a stop signal arrives (core/signals.h), and then ends ssh.
  Result finish(double seconds);

 private:
  pid_t process_ = -1;
  Descriptor output_;
  Descriptor errors_;
};

}  // namespace dtrain
