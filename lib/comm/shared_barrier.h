// A barrier in shared memory for processes: waits spin briefly, then sleep on a futex, and notice a peer that
// died.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace dtrain {

// One rank's place, alone on its cache line; all of them are zero before the first use.
struct alignas(64) BarrierSlot {
  std::atomic<uint32_t> arrived;   // barriers this rank has come to
  std::atomic<uint32_t> sleepers;  // ranks that sleep until `arrived` changes
  std::atomic<int32_t> process;    // this rank's process id
  std::atomic<int32_t> core;       // where it ran when it last came
};

class SharedBarrier {
 public:
  // `slots` are shared by `size` ranks, which each make one. No barrier may be waited at before all of them
  // are made. `spins`: how often to look before sleeping, as long as that pays: not for a rank that last ran
  // on this one's core, which spinning keeps from arriving, and now and then only where it was in vain (ranks
  // that outnumber cores, or share them with other work).
  SharedBarrier(BarrierSlot* slots, int rank, int size, std::chrono::milliseconds timeout, int spins);
  ~SharedBarrier();
  SharedBarrier(const SharedBarrier&) = delete;
  SharedBarrier& operator=(const SharedBarrier&) = delete;

  // Returns when every rank has called it; what they wrote before is then visible. Throws Error(kPeerLost)
  // that names the rank that died (noticed within kLookInterval) or did not come within the timeout; the
  // barrier is of no use then.
  void wait();

  static constexpr std::chrono::milliseconds kLookInterval{20};

 private:
  bool has_arrived(int other) const;
  bool spin_until_arrived(int other);
  void sleep_until_arrived(int other);
  bool is_dead(int other);

  BarrierSlot* slots_;
  int rank_;
  int size_;
  std::chrono::milliseconds timeout_;
  int spins_;
  uint32_t count_ = 0;                // barriers so far
  uint32_t spun_in_vain_ = 0;         // waits on end
  std::vector<int> process_handles_;  // pidfds, opened when first needed; -1: not yet
};

}  // namespace dtrain
