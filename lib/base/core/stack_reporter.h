// Shows what a process is doing when it seems to hang: the stacks of its threads.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace dtrain {

// While a StackReporter exists, SIGQUIT makes this process write to stderr the text that `describe` returns
// and the stack of every thread; then the process continues. After the reporter is destroyed, SIGQUIT is
// ignored. At most one per process.
//
// Each thread is interrupted only while it records its return addresses, which takes no lock and no memory
// from the heap. Everything else, including `describe`, runs on the reporter's own thread. The output names a
// thread that does not answer (the kernel is holding it). A stack ends at the first frame whose code has no
// unwind information (generated kernels).
class StackReporter {
 public:
  explicit StackReporter(std::function<std::string()> describe);
  ~StackReporter();

 private:
  void run();

  std::function<std::string()> describe_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace dtrain
