// A process group over several hosts that sends as little as possible between them.
#pragma once

#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/gloo_group.h"
#include "comm/process_group.h"

namespace dtrain {

// Two levels: the ranks of a host communicate through shared memory, and one rank of each host, its leader,
// communicates with the other leaders over gloo. So each host sends and receives the data once, however many
// ranks it has. All hosts have the same number of ranks, numbered host by host.
class HierarchicalGroup : public ProcessGroup {
 public:
  HierarchicalGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                    std::chrono::milliseconds timeout, const GroupNetwork& network);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce_sum(at::Tensor& tensor) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void barrier() override;
  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         StepClock& clock) override;
  Traffic traffic() const override { return between_ ? between_->traffic() : Traffic(); }

 private:
  int rank_;
  int size_;
  int local_size_;
  std::unique_ptr<ProcessGroup> inside_;
  std::unique_ptr<GlooGroup> between_;  // the group of the leaders; null on other ranks
};

}  // namespace dtrain
