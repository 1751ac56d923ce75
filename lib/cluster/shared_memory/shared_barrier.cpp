#include "shared_memory/shared_barrier.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace dtrain {
namespace {

// After this many vain spins in a row, spinning is tried only once in kWaitsPerTry waits.
constexpr uint32_t kVainSpins = 8;
constexpr uint32_t kWaitsPerTry = 32;

static_assert(std::atomic<uint32_t>::is_always_lock_free, "a futex needs a plain word");

// Not FUTEX_PRIVATE: the word is in memory shared between processes.
void futex_wait(std::atomic<uint32_t>& word, uint32_t value, std::chrono::milliseconds patience) {
  const timespec limit{patience.count() / 1000, (patience.count() % 1000) * 1000000};
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, &limit, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

SharedBarrier::SharedBarrier(BarrierSlot* slots, int rank, int size, std::chrono::milliseconds timeout,
                             int spins)
    : slots_(slots),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      spins_(spins),
      process_handles_(static_cast<size_t>(size), -1) {
  slots_[rank].process = ::getpid();
}

SharedBarrier::~SharedBarrier() {
  for (const int handle : process_handles_) {
    if (handle >= 0) ::close(handle);
  }
}

void SharedBarrier::wait() {
  ++count_;
  BarrierSlot& own = slots_[rank_];
  own.core.store(::sched_getcpu(), std::memory_order_relaxed);
  // Sequentially consistent on both sides: either we see the sleeper, or it sees that we have arrived.
  own.arrived.store(count_);
  if (own.sleepers.load() > 0) futex_wake_all(own.arrived);
  for (int other = 0; other < size_; ++other) {
    if (!has_arrived(other) && !spin_until_arrived(other)) sleep_until_arrived(other);
  }
}

// Nothing tells whether the other rank is running now; the core it ran on last and recent success are hints.
bool SharedBarrier::spin_until_arrived(int other) {
  const auto core_of = [this](int rank) { return slots_[rank].core.load(std::memory_order_relaxed); };
  if (core_of(other) == core_of(rank_)) return false;
  if (spun_in_vain_ >= kVainSpins && spun_in_vain_ % kWaitsPerTry != 0) {
    ++spun_in_vain_;
    return false;
  }
  for (int look = 0; look < spins_; ++look) {
    relax();
    if (has_arrived(other)) {
      spun_in_vain_ = 0;
      return true;
    }
  }
  ++spun_in_vain_;
  return false;
}

// Compares the difference and not the order, because the counters wrap around.
bool SharedBarrier::has_arrived(int other) const {
  return static_cast<int32_t>(slots_[other].arrived.load() - count_) >= 0;
}

// Only the time counts in which this rank looked: the whole job may be stopped for a while.
void SharedBarrier::sleep_until_arrived(int other) {
  using std::chrono::steady_clock;
  auto last_look = steady_clock::now();
  steady_clock::duration waited{0};
  BarrierSlot& slot = slots_[other];
  slot.sleepers.fetch_add(1);
  const char* failure = nullptr;
  while (failure == nullptr) {
    const uint32_t seen = slot.arrived.load();
    if (has_arrived(other)) break;
    futex_wait(slot.arrived, seen, kLookInterval);
    if (has_arrived(other)) break;
    // In this order: a peer may arrive and then end between the two checks.
    if (is_dead(other) && !has_arrived(other)) failure = "has ended";
    const auto now = steady_clock::now();
    waited += std::min<steady_clock::duration>(now - std::exchange(last_look, now), 2 * kLookInterval);
    if (waited > timeout_) failure = "did not come in time";
  }
  slot.sleepers.fetch_sub(1);
  if (failure != nullptr) {
    throw Error(ExitCode::kPeerLost, "rank {} (process {}) {}; rank {} waited for it", other,
                slot.process.load(), failure, rank_);
  }
}

bool SharedBarrier::is_dead(int other) {
  const pid_t process = slots_[other].process.load();
  if (process == ::getpid()) return false;  // the ranks are threads of one process
  int& handle = process_handles_[static_cast<size_t>(other)];
  if (handle < 0) {
    handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    if (handle < 0) return errno == ESRCH;
  }
  pollfd state{handle, POLLIN, 0};
  return ::poll(&state, 1, 0) == 1;
}

}  // namespace dtrain
