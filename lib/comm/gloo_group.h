// A process group of c10d over gloo: TCP between processes of one host or of several.
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
  GlooGroup(c10::intrusive_ptr<c10d::ProcessGroup> group, int rank, int size)
      : group_(std::move(group)), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce_sum(at::Tensor& tensor) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void barrier() override;
  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         PhaseClock& clock) override;

  const c10::intrusive_ptr<c10d::ProcessGroup>& c10d_group() const { return group_; }

 private:
  void run(const char* what, const std::function<void()>& body);

  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int rank_;
  int size_;
  std::unique_ptr<ProcessGroup> alone_ = make_single_group();  // what is summed before gloo sums: nothing
};

// Returns when all `size` ranks have met at `store`, or throws Error(kPeerLost) after `timeout`, which is
// also that of every later collective.
std::unique_ptr<GlooGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                           std::chrono::milliseconds timeout,
                                           const GroupNetwork& network = {});

}  // namespace dtrain
