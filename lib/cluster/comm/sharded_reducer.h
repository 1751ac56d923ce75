// Sums and applies the gradients of the ranks of one host, in shards, through shared memory. With virtual
// replicas it sums in a fixed order, also between hosts.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "comm/process_group.h"
#include "core/step_clock.h"
#include "shared_memory/shared_barrier.h"
#include "store/store.h"

namespace dtrain {

// Where the ranks of a reducer meet. A single rank needs neither a store nor a barrier.
struct ReducerMeeting {
  ProcessGroup& group;  // of these ranks; like the clock it outlives the reducer
  StepClock& clock;     // of this rank
  StorePtr store = {};
  std::string name = {};  // of the segment; each name is used once
  std::chrono::milliseconds timeout = {};
  SharedBarrier* barrier = nullptr;  // outlives the reducer

  // Until all ranks are there.
  void meet() const {
    if (barrier != nullptr) barrier->wait();
  }
  // The same between a rank's own work, with the time that it takes.
  void wait_for_peers() const {
    if (barrier == nullptr) return;
    clock.enter(StepTime::kWaitForPeers);
    barrier->wait();
    clock.enter(StepTime::kCommunicate);
  }
};

// Collective.
std::unique_ptr<GradientReducer> make_sharded_reducer(const std::vector<at::Tensor>& parameters,
                                                      const ReducerOptions& options, ReducerMeeting meeting);

// The same for hosts without virtual replicas (ReducerOptions::shard_hosts), among which it divides the
// update. Parameters must all be float32 or all float64, else throws Error(kUsage).
std::unique_ptr<GradientReducer> make_host_sharded_reducer(const std::vector<at::Tensor>& parameters,
                                                           const ReducerOptions& options,
                                                           ReducerMeeting meeting);

}  // namespace dtrain
