// Sends gradients between hosts while backward still computes earlier layers, and while later layers are
// being updated.
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"

namespace dtrain {

using C10dGroup = c10::intrusive_ptr<c10d::ProcessGroup>;

// The two levels at which a bucket is summed. If there is only one level, `inside` is a group of one.
struct ReducerLevels {
  ProcessGroup& all;     // all ranks: agree on the buckets
  ProcessGroup& inside;  // the ranks of one host: sum first; rank 0 then communicates for the host
  C10dGroup between;     // the hosts; null on ranks that do not communicate for their host
};

// A bucket that is being summed over the ranks.
struct BucketUnderWay {
  at::Tensor gradients;  // receives the sum
  at::Tensor packed;     // holds the sum until then, in the wire type; undefined if `gradients` holds it
  c10::intrusive_ptr<c10d::Work> between;  // null on ranks that do not communicate for their host
  std::vector<size_t> parts;
};

// Uses c10d's Reducer, which sums buckets of gradients as they become ready (Li et al., PyTorch Distributed:
// Experiences on Accelerating Data Parallel Training, VLDB 2020). A bucket is summed inside the host at once,
// and then sent between the hosts while backward continues. After backward, the ranks of the host read each
// sum as soon as it arrives; updating those parameters hides the transfer of the remaining buckets.
class OverlappedReducer : public GradientReducer {
 public:
  // `on_wait` is called when this rank is about to wait for the sums.
  OverlappedReducer(const ReducerLevels& levels, const std::vector<at::Tensor>& parameters,
                    const ReducerOptions& options, std::function<void()> on_wait);

  const std::vector<ParameterPart>& parts() const override { return parts_; }
  bool is_divided() const override { return false; }
  void zero_gradients() override;
  void prepare(bool last) override;
  void put_gradient(size_t parameter, const at::Tensor& gradient) override;
  void finish(const PartsSummed& summed) override;
  void share_update() override {}

 private:
  ProcessGroup& inside_;
  std::vector<at::Tensor> parameters_;
  std::vector<ParameterPart> parts_;
  std::function<void()> on_wait_;
  std::vector<BucketUnderWay> buckets_;  // of the current step, in the order in which they were sent
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace dtrain
