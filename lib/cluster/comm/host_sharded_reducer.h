// Divides the update among the ranks of several hosts, so that each of them keeps a part of the optimizer.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/process_group.h"
#include "comm/sharded_reducer.h"
#include "core/step_clock.h"
#include "shared_memory/shared_barrier.h"

namespace dtrain {

// ReducerOptions::shard_hosts, of the hosts in `options.hosts`; the rest is as for make_sharded_reducer().
// Parameters must all be float32 or all float64, else throws Error(kUsage).
std::unique_ptr<GradientReducer> make_host_sharded_reducer(const std::vector<at::Tensor>& parameters,
                                                           const ReducerOptions& options,
                                                           const ReducerMeeting& meeting,
                                                           SharedBarrier* barrier,
                                                           std::function<void()> on_wait, StepClock& clock);

}  // namespace dtrain
