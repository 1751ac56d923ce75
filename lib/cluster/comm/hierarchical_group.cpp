#include "comm/hierarchical_group.h"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "comm/overlapped_reducer.h"
#include "core/error.h"

namespace dtrain {

HierarchicalGroup::HierarchicalGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                     std::chrono::milliseconds timeout, const GroupNetwork& network)
    : rank_(rank), size_(size), local_size_(network.local_size) {
  if (network.hosts * local_size_ != size || network.host * local_size_ + network.local_rank != rank) {
    throw Error(ExitCode::kBug, "rank {} of {} is not local rank {} of {} on host {} of {}", rank, size,
                network.local_rank, local_size_, network.host, network.hosts);
  }
  const auto host_store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("host{}", network.host), store);
  inside_ = make_shared_memory_group(host_store, network.local_rank, local_size_, timeout);
  if (network.local_rank == 0)
    between_ = make_gloo_group(store, network.host, network.hosts, timeout, network);
}

void HierarchicalGroup::all_reduce_sum(at::Tensor& tensor) {
  notify_wait();
  inside_->all_reduce_sum(tensor);
  if (between_) between_->all_reduce_sum(tensor);
  inside_->broadcast({tensor}, 0);
}

void HierarchicalGroup::broadcast(const std::vector<at::Tensor>& tensors, int root) {
  notify_wait();
  const int root_host = root / local_size_;
  if (rank_ / local_size_ == root_host && root % local_size_ != 0)
    inside_->broadcast(tensors, root % local_size_);  // first to the leader of the root's host
  if (between_) between_->broadcast(tensors, root_host);
  inside_->broadcast(tensors, 0);
}

void HierarchicalGroup::barrier() {
  notify_wait();
  inside_->barrier();
  if (between_) between_->barrier();
  inside_->barrier();
}

std::unique_ptr<GradientReducer> HierarchicalGroup::make_gradient_reducer(
    const std::vector<at::Tensor>& parameters, const ReducerOptions& options, StepClock& /*clock*/) {
  if (options.placement != Placement::kCopies) {
    throw Error(ExitCode::kBug, "several hosts do not share variables");
  }
  const ReducerLevels levels{*this, *inside_, between_ ? between_->c10d_group() : nullptr};
  return std::make_unique<OverlappedReducer>(levels, parameters, options, [this] { notify_wait(); });
}

}  // namespace dtrain
