// What a process is doing when it seems to stand still: the stacks of its threads.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace dtrain {

// While it lives, SIGQUIT makes this process write to its standard error what `describe` returns and the
// stack of every thread, and go on. Afterwards SIGQUIT is ignored. One at a time in a process.
//
// A thread is interrupted for as long as it takes to note its return addresses, without a lock or memory from
// the heap; all else, `describe` too, happens on a thread of the reporter's own. A thread that does not
// answer (the kernel holds it) is named as such. Frames of code without unwind information (generated
// kernels) end a stack.
class StackReporter {
 public:
  explicit StackReporter(std::function<std::string()> describe);
  ~StackReporter();
  StackReporter(const StackReporter&) = delete;
  StackReporter& operator=(const StackReporter&) = delete;

 private:
  void run();

  std::function<std::string()> describe_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace dtrain
