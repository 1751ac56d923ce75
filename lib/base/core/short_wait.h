// Waits that are mostly short, on cores that may be shared.
#pragma once

#include <atomic>
#include <cstdint>

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

}  // namespace dtrain
