#include "core/short_wait.h"

#include <chrono>
#include <utility>

namespace dtrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kLooking{60};    // longer than the pauses of a training step, mostly
constexpr std::chrono::microseconds kLostCore{200};  // between two looks: another program has had the core
constexpr int kLooks = 32;                           // without asking for the time
constexpr int kWaitsAsleep = 500;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void ShortWait::until_changes(const std::atomic<uint32_t>& word, uint32_t from) {
  if (asleep_ > 0) {
    --asleep_;
  } else if (looks_until_changes(word, from)) {
    return;
  }
  word.wait(from, std::memory_order_acquire);
}

bool ShortWait::looks_until_changes(const std::atomic<uint32_t>& word, uint32_t from) {
  const auto begin = Clock::now();
  for (auto last = begin; last - begin < kLooking;) {
    for (int look = 0; look < kLooks; ++look) {
      if (word.load(std::memory_order_acquire) != from) return true;
      relax();
    }
    const auto now = Clock::now();
    if (now - std::exchange(last, now) > kLostCore) asleep_ = kWaitsAsleep;
  }
  return false;
}

}  // namespace dtrain
