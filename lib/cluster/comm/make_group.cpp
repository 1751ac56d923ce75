#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "comm/gloo_group.h"
#include "comm/process_group.h"
#include "comm/sharded_reducer.h"
#include "core/error.h"

namespace dtrain {
namespace {

// A group over several hosts that sends as little as possible between them. It has two levels: the ranks of a
// host communicate through shared memory, and one rank of each host, its leader, communicates with the other
// leaders over gloo. So each host sends and receives the data once, however many ranks it has. All hosts have
// the same number of ranks, numbered host by host.
class HierarchicalGroup : public ProcessGroup {
 public:
  HierarchicalGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                    std::chrono::milliseconds timeout, const GroupNetwork& network)
      : ProcessGroup(rank, size), local_size_(network.local_size) {
    if (network.hosts * local_size_ != size || network.host * local_size_ + network.local_rank != rank) {
      throw Error(ExitCode::kBug, "rank {} of {} is not local rank {} of {} on host {} of {}", rank, size,
                  network.local_rank, local_size_, network.host, network.hosts);
    }
    const auto host_store =
        c10::make_intrusive<c10d::PrefixStore>(fmt::format("host{}", network.host), store);
    inside_ = make_shared_memory_group(host_store, network.local_rank, local_size_, timeout);
    if (network.local_rank == 0)
      between_ = make_gloo_group(store, network.host, network.hosts, timeout, network);
  }

  void all_reduce_sum(at::Tensor& tensor) override {
    notify_wait();
    inside_->all_reduce_sum(tensor);
    if (between_) between_->all_reduce_sum(tensor);
    inside_->broadcast({tensor}, 0);
  }

  void broadcast(const std::vector<at::Tensor>& tensors, int root) override {
    notify_wait();
    const int root_host = root / local_size_;
    if (rank_ / local_size_ == root_host && root % local_size_ != 0)
      inside_->broadcast(tensors, root % local_size_);  // first to the leader of the root's host
    if (between_) between_->broadcast(tensors, root_host);
    inside_->broadcast(tensors, 0);
  }

  void barrier() override {
    notify_wait();
    inside_->barrier();
    if (between_) between_->barrier();
    inside_->barrier();
  }

  ProcessGroup& inside() override { return *inside_; }
  ProcessGroup* between() override { return between_.get(); }

  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         StepClock& clock) override {
    if (options.placement != Placement::kCopies)
      throw Error(ExitCode::kBug, "several hosts do not share variables");
    if (options.virtual_replicas > 0 || options.shard_hosts) {
      ReducerOptions of_host = options;
      inside_->set_on_wait([this] { notify_wait(); });
      of_host.hosts = {size_ / local_size_, rank_ / local_size_, between_.get()};
      return inside_->make_gradient_reducer(parameters, of_host, clock);
    }
    return make_overlapped_reducer({*this, *inside_, between_ ? between_->c10d_group() : nullptr}, parameters,
                                   options);
  }

  std::vector<int> sockets() const override { return between_ ? between_->sockets() : std::vector<int>(); }

 private:
  int local_size_;
  std::unique_ptr<ProcessGroup> inside_;
  std::unique_ptr<GlooGroup> between_;  // the group of the leaders; null on other ranks
};

}  // namespace

void ProcessGroup::exchange(const at::Tensor& sent, const std::vector<int64_t>& /*sent_bytes*/,
                            const at::Tensor& received, const std::vector<int64_t>& /*received_bytes*/) {
  if (size_ > 1) throw Error(ExitCode::kBug, "this group sends nothing to single ranks");
  received.copy_(sent);
}

void ProcessGroup::gather(const at::Tensor& own, const at::Tensor& all) { exchange(own, {}, all, {}); }

std::unique_ptr<GradientReducer> ProcessGroup::make_gradient_reducer(
    const std::vector<at::Tensor>& parameters, const ReducerOptions& options, StepClock& clock) {
  if (options.virtual_replicas == 0 && options.hosts.count == 1)
    return std::make_unique<GradientReducer>(parameters);
  return make_sharded_reducer(parameters, options, {.group = *this, .clock = clock});
}

std::unique_ptr<ProcessGroup> make_group(const std::string& communication,
                                         const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         std::chrono::milliseconds timeout, const GroupNetwork& network,
                                         Accelerator* accelerator) {
  if (size == 1) return make_single_group();
  if (accelerator != nullptr)
    return make_gloo_group(store, rank, size, timeout, network, {accelerator, communication == "nccl"});
  const bool automatic = communication == "auto";
  if (automatic && network.spans_hosts() && network.local_size > 1)
    return std::make_unique<HierarchicalGroup>(store, rank, size, timeout, network);
  if (communication == "gloo" || (automatic && network.spans_hosts()))
    return make_gloo_group(store, rank, size, timeout, network);
  if (automatic || communication == "shared_memory") {
    if (network.spans_hosts())
      throw Error(ExitCode::kUsage,
                  "strategy.communication: shared_memory joins the replicas of one host, and this job spans "
                  "several; use auto");
    return make_shared_memory_group(store, rank, size, timeout);
  }
  throw Error(ExitCode::kBug, "no communication named '" + communication + "'");
}

}  // namespace dtrain
