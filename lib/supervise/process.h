// One child process: started with exactly the descriptors it needs, in a process group of its own, tied to
// its parent's life, and watched without blocking.
#pragma once

#include <sys/types.h>

#include <optional>

#include "core/descriptor.h"

namespace dtrain {

struct ReplicaProcess;

// What a child finds open besides stdin, stdout and stderr. Single digits, so that a shell can name them.
constexpr int kReportDescriptor = 3;
constexpr int kBoardDescriptor = 4;

struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // what killed it; 0: it exited
};

class Process {
 public:
  // Starts it and waits until it runs its program. The child dies with the *thread* that calls this (that is
  // how Linux defines PR_SET_PDEATHSIG), so call it on one that outlives the child. Throws Error: kUsage or
  // kDisk when the log or the program cannot be opened, kMemory when there is no room for a process.
  Process(const ReplicaProcess& replica, int board_descriptor);
  // Ends what still runs, at once.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Where its reports are read; not blocking.
  const Descriptor& reports() const { return reports_; }
  void close_reports() { reports_.reset(); }
  // Becomes readable when it has ended; -1 where the kernel has no pidfd.
  int exit_descriptor() const { return exit_.get(); }

  // Sends `signal` to its whole group.
  void send(int signal) const;
  // Sends it to the process alone.
  void tell(int signal) const;
  // How it ended, or nullopt while it runs. It stays a zombie until reap(), so that its group's number stays
  // its own.
  std::optional<ProcessEnd> ended() const;
  // Stopped by a signal such as SIGSTOP (state T of proc(5)): of all signals only SIGKILL ends it then.
  bool is_stopped() const;
  // Kills what is left of its group and reaps all of it.
  void reap();

 private:
  pid_t pid_ = -1;  // also its group's number; -1 once reaped
  Descriptor reports_;
  Descriptor exit_;
};

// While it lives, children that ended wait to be reaped even if our parent made us ignore SIGCHLD, and the
// children of dead children become ours, so that Process::reap() sees them end.
class ReapingScope {
 public:
  ReapingScope();
  ~ReapingScope();
  ReapingScope(const ReapingScope&) = delete;
  ReapingScope& operator=(const ReapingScope&) = delete;

 private:
  void (*previous_handler_)(int);
  int was_reaper_ = 0;
};

}  // namespace dtrain
