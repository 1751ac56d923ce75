// A c10d process group over gloo: TCP between processes on any hosts. Tensors on GPUs may use NCCL instead.
// Its gradients are sent while backward computes earlier layers and while later ones are updated.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "comm/process_group.h"

namespace dtrain {

class GlooGroup : public ProcessGroup {
 public:
  // `sockets`: this process's connections to the others.
  GlooGroup(c10::intrusive_ptr<c10d::ProcessGroup> group, int rank, int size, std::vector<int> sockets)
      : ProcessGroup(rank, size), group_(std::move(group)), sockets_(std::move(sockets)) {}
  // While an exception is being handled, aborts operations that would wait forever, such as NCCL's kernels
  // for a dead peer.
  ~GlooGroup() override;

  void all_reduce_sum(at::Tensor& tensor) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void barrier() override;
  ProcessGroup& inside() override { return alone_; }
  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         StepClock& clock) override;
  std::vector<int> sockets() const override { return sockets_; }

  void exchange(const at::Tensor& sent, const std::vector<int64_t>& sent_bytes, const at::Tensor& received,
                const std::vector<int64_t>& received_bytes) override;
  void gather(const at::Tensor& own, const at::Tensor& all) override;

  // Begins to send `sent[i]` to rank i, and to receive `received[i]` from it: contiguous CPU tensors of the
  // same size at both ends. Do not change them before you have waited for each transfer. What a rank sends to
  // itself is copied at once. Call it inside with_peer_errors().
  using Transfers = std::vector<c10::intrusive_ptr<c10d::Work>>;
  Transfers start_exchange(const std::vector<at::Tensor>& sent, const std::vector<at::Tensor>& received);

  const c10::intrusive_ptr<c10d::ProcessGroup>& c10d_group() const { return group_; }

 private:
  void run(const char* what, const std::function<void()>& body);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  std::vector<int> sockets_;
  ProcessGroup alone_;  // the inner level, with nothing to sum
};

struct GlooBackend {
  c10::intrusive_ptr<c10d::Backend> backend;
  std::vector<int> sockets;  // this process's sockets that belong to the backend
};

// Connects all `size` ranks through `store`, each over the `network` of its own host, for `at_once`
// collectives at a time. If a rank does not connect within `timeout`, throws an exception that
// with_peer_errors() (store/store.h) treats as a lost peer.
GlooBackend make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                              std::chrono::milliseconds timeout, const GroupNetwork& network, int at_once);

// Settings for tensors on a device. Without NCCL, gloo copies them through host memory; this also works for
// ranks that share one device.
struct DeviceTensors {
  Accelerator* accelerator = nullptr;  // null if there is no device
  bool nccl = false;
};

// Returns when all `size` ranks have connected through `store`, or throws Error(kPeerLost) after `timeout`.
// Every later collective has the same timeout.
std::unique_ptr<GlooGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                           std::chrono::milliseconds timeout,
                                           const GroupNetwork& network = {},
                                           const DeviceTensors& device = {});

using C10dGroup = c10::intrusive_ptr<c10d::ProcessGroup>;

// The two levels at which a bucket is summed. If there is only one level, `inside` is a group of one.
struct ReducerLevels {
  ProcessGroup& all;     // all ranks: agree on the buckets; is told when this rank is about to wait
  ProcessGroup& inside;  // the ranks of one host: sum first; rank 0 then communicates for the host
  C10dGroup between;     // the hosts; null on ranks that do not communicate for their host
};

// Uses c10d's Reducer, which sums buckets of gradients as they become ready (Li et al., PyTorch Distributed:
// Experiences on Accelerating Data Parallel Training, VLDB 2020). A bucket is summed inside the host at once,
// and then sent between the hosts while backward continues. After backward, the ranks of the host read each
// sum as soon as it arrives; updating those parameters hides the transfer of the remaining buckets.
std::unique_ptr<GradientReducer> make_overlapped_reducer(const ReducerLevels& levels,
                                                         const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options);

}  // namespace dtrain
