// Sends gradients between hosts while backward computes earlier layers and while later ones are updated.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "comm/process_group.h"

namespace dtrain {

using C10dGroup = c10::intrusive_ptr<c10d::ProcessGroup>;

// The two levels at which a bucket is summed. If there is only one level, `inside` is a group of one.
struct ReducerLevels {
  ProcessGroup& all;     // all ranks: agree on the buckets
  ProcessGroup& inside;  // the ranks of one host: sum first; rank 0 then communicates for the host
  C10dGroup between;     // the hosts; null on ranks that do not communicate for their host
};

// Uses c10d's Reducer, which sums buckets of gradients as they become ready (Li et al., PyTorch Distributed:
// Experiences on Accelerating Data Parallel Training, VLDB 2020). A bucket is summed inside the host at once,
// and then sent between the hosts while backward continues. After backward, the ranks of the host read each
// sum as soon as it arrives; updating those parameters hides the transfer of the remaining buckets.
// `on_wait` is called when this rank is about to wait for the sums.
std::unique_ptr<GradientReducer> make_overlapped_reducer(const ReducerLevels& levels,
                                                         const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         std::function<void()> on_wait);

}  // namespace dtrain
