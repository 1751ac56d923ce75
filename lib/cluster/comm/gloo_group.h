// A c10d process group over gloo: TCP between processes on one host or several. Tensors on GPUs may use NCCL
// instead.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "comm/process_group.h"

namespace dtrain {

class GlooGroup : public ProcessGroup {
 public:
  // `sockets`: this process's connections to the others.
  GlooGroup(c10::intrusive_ptr<c10d::ProcessGroup> group, int rank, int size, std::vector<int> sockets)
      : group_(std::move(group)), rank_(rank), size_(size), sockets_(std::move(sockets)) {}
  // If an error is being handled, aborts operations that would wait forever, such as NCCL's kernels waiting
  // for a dead peer.
  ~GlooGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce_sum(at::Tensor& tensor) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void barrier() override;
  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         StepClock& clock) override;
  Traffic traffic() const override { return traffic_of(sockets_); }

  const c10::intrusive_ptr<c10d::ProcessGroup>& c10d_group() const { return group_; }

 private:
  void run(const char* what, const std::function<void()>& body);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int rank_;
  int size_;
  std::vector<int> sockets_;
  std::unique_ptr<ProcessGroup> alone_ = make_single_group();  // the inner level, with nothing to sum
};

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

}  // namespace dtrain
