// Sums and applies the gradients of the ranks of one host, in shards, through shared memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/shared_barrier.h"
#include "core/step_clock.h"
#include "store/store.h"

namespace dtrain {

// Where the ranks of a reducer meet.
struct ReducerMeeting {
  StorePtr store;
  std::string name;  // of the segment; each name is used once
  int rank;
  int size;
  std::chrono::milliseconds timeout;
};

// Collective. `on_wait` is called when this rank is about to wait for others. The barrier and the clock must
// outlive the reducer.
std::unique_ptr<GradientReducer> make_sharded_reducer(const std::vector<at::Tensor>& parameters,
                                                      Placement placement, const ReducerMeeting& meeting,
                                                      SharedBarrier& barrier, std::function<void()> on_wait,
                                                      StepClock& clock);

}  // namespace dtrain
