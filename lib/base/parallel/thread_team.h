// The threads that compute beside a thread.
#pragma once

#include <c10/util/FunctionRef.h>
#include <sys/types.h>

#include <atomic>
#include <cfenv>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace dtrain {

// One thread's waits for words of memory to change. It looks for some microseconds, which costs the least if
// nobody else wants the core, and then sleeps until someone calls the word's notify_one() or notify_all(). If
// another program took the core while it spun, the next waits sleep at once.
class ShortWait {
 public:
  void until_changes(const std::atomic<uint32_t>& word, uint32_t from);

 private:
  bool looks_until_changes(const std::atomic<uint32_t>& word, uint32_t from);

  int asleep_ = 0;  // so many waits
};

// OpenMP shares out a loop before it begins, and all threads meet at its end, so that one that has lost its
// core to another program holds up all. Here who is free takes the next piece, the calling thread too, which
// waits only for pieces that others have begun.
class ThreadTeam {
 public:
  using Work = c10::function_ref<void(int64_t piece)>;

  // That of this thread, without threads as yet.
  static ThreadTeam& own();

  ThreadTeam() = default;
  ~ThreadTeam() { end(); }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Calls work(0) to work(pieces - 1), each once, in this thread and threads - 1 others, which
  // at::get_thread_num() numbers. There are fewer than 65536 pieces. Rounding and denormal numbers are this
  // thread's everywhere, and cores those that it had when the others were made. Afterwards rethrows what a
  // piece has thrown.
  void run(int64_t pieces, int threads, Work work);
  // Ends the other threads; run() makes new ones.
  void end();

 private:
  void serve(int number);
  void compute(int64_t piece);
  int64_t take(bool first);

  // The current loop's free pieces: the loop's number, the first free piece and the one after the last. Only
  // a thread that has taken a piece may look at the loop, because the loop cannot end before that piece.
  alignas(64) std::atomic<uint64_t> open_ = 0;
  alignas(64) std::atomic<uint32_t> loops_ = 0;   // loops so far; a thread without work waits for the next
  alignas(64) std::atomic<uint32_t> undone_ = 0;  // pieces
  const Work* work_ = nullptr;
  std::fenv_t arithmetic_ = {};
  std::atomic_flag failed_;
  std::exception_ptr failure_;
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
  pid_t process_ = 0;  // that made them
  ShortWait wait_;
};

}  // namespace dtrain
