// One child process. It gets exactly the descriptors that it needs and its own process group, it dies with
// its parent, and it is watched without blocking.
#pragma once

#include <sys/types.h>

#include <optional>

#include "core/descriptor.h"

namespace dtrain {

struct ReplicaProcess;

// The descriptors that a child has open besides stdin, stdout and stderr: single digits, for shells.
constexpr int kReportDescriptor = 3;
constexpr int kBoardDescriptor = 4;

struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // the signal that killed it; 0: it exited
};

class Process {
 public:
  // Starts the process and waits until it runs its program. The child dies with the *thread* that calls this
  // (that is how Linux defines PR_SET_PDEATHSIG), so use a thread that outlives the child. Throws Error:
  // kUsage or kDisk if the log or the program cannot be opened, kMemory if there is no room for a process.
  Process(const ReplicaProcess& replica, int board_descriptor);
  // Kills the process at once if it still runs.
  ~Process();

  // The descriptor on which its reports are read; non-blocking.
  const Descriptor& reports() const { return reports_; }
  void close_reports() { reports_.reset(); }
  // Becomes readable when the process has ended; -1 if the kernel has no pidfds.
  int exit_descriptor() const { return exit_.get(); }

  // Sends `signal` to the whole process group.
  void send(int signal) const;
  // Sends `signal` only to the process itself.
  void tell(int signal) const;
  // How the process ended; nullopt while it runs. A zombie until reap(), so its number is not reused.
  std::optional<ProcessEnd> ended() const;
  // Whether a signal such as SIGSTOP has stopped the process (state T of proc(5)): only SIGKILL ends it then.
  bool is_stopped() const;
  // Kills what is left of its group and reaps it.
  void reap();

 private:
  pid_t pid_ = -1;  // also the number of its group; -1 once reaped
  Descriptor reports_;
  Descriptor exit_;
};

// While this exists, ended children wait to be reaped even if our parent made us ignore SIGCHLD. Children of
// dead children become ours, so that Process::reap() sees them end.
class ReapingScope {
 public:
  ReapingScope();
  ~ReapingScope();
  ReapingScope(ReapingScope&&) = delete;  // nor copied

 private:
  void (*previous_handler_)(int);
  int was_reaper_ = 0;
};

}  // namespace dtrain
