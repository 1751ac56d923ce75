// A barrier for processes, in shared memory. A wait spins, then sleeps on a futex, and notices dead peers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace dtrain {

// One rank's slot, alone on its cache line. All slots are zero before the first use.
struct alignas(64) BarrierSlot {
  std::atomic<uint32_t> arrived;   // how many barriers this rank has arrived at
  std::atomic<uint32_t> sleepers;  // how many ranks sleep until `arrived` changes
  std::atomic<int32_t> process;    // this rank's process id
  std::atomic<int32_t> core;       // the core on which it last arrived
};

class SharedBarrier {
 public:
  // `slots` are shared by `size` ranks, each of which makes its own SharedBarrier. All of them must be made
  // before any rank waits. `spins` says how often to check before sleeping. A wait does not spin for a rank
  // that last ran on the same core, because spinning would keep that rank from arriving. If spinning was in
  // vain several times in a row (the cores have other work, or more ranks), it is tried only now and then.
  SharedBarrier(BarrierSlot* slots, int rank, int size, std::chrono::milliseconds timeout, int spins);
  ~SharedBarrier();
  SharedBarrier(SharedBarrier&&) = delete;  // nor copied

  // Returns when every rank has called it; what the ranks wrote before is then visible to all. Throws an
  // Error(kPeerLost) that names the rank that died (noticed within kLookInterval) or did not arrive within
  // the timeout. After that the barrier is unusable.
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
  uint32_t spun_in_vain_ = 0;         // waits in a row
  std::vector<int> process_handles_;  // pidfds, opened when first needed; -1: not opened yet
};

}  // namespace dtrain
