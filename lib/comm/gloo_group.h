// A process group of c10d over gloo: TCP between processes of one host or of several. What lies on GPUs may
// go through NCCL instead.
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
  // `sockets`: what connects this process to the others.
  GlooGroup(c10::intrusive_ptr<c10d::ProcessGroup> group, int rank, int size, std::vector<int> sockets)
      : group_(std::move(group)), rank_(rank), size_(size), sockets_(std::move(sockets)) {}
  // What waits for ever, as NCCL's kernels do for a peer that died, is broken off when an error is under way.
  ~GlooGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce_sum(at::Tensor& tensor) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void barrier() override;
  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         PhaseClock& clock) override;
  Traffic traffic() const override { return traffic_of(sockets_); }

  const c10::intrusive_ptr<c10d::ProcessGroup>& c10d_group() const { return group_; }

 private:
  void run(const char* what, const std::function<void()>& body);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int rank_;
  int size_;
  std::vector<int> sockets_;
  std::unique_ptr<ProcessGroup> alone_ = make_single_group();  // what is summed before gloo sums: nothing
};

// For tensors that lie on a device. Without NCCL gloo takes them through the host's memory, which also joins
// ranks that share one device.
struct DeviceTensors {
  Accelerator* accelerator = nullptr;  // null: there are none
  bool nccl = false;
};

// Returns when all `size` ranks have met at `store`, or throws Error(kPeerLost) after `timeout`, which is
// also that of every later collective.
std::unique_ptr<GlooGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                           std::chrono::milliseconds timeout,
                                           const GroupNetwork& network = {},
                                           const DeviceTensors& device = {});

}  // namespace dtrain
