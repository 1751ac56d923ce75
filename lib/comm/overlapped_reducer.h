// Gradients that travel between hosts while backward still computes earlier layers, and while later layers
// are updated.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"

namespace dtrain {

using C10dGroup = c10::intrusive_ptr<c10d::ProcessGroup>;

// The two levels at which a bucket is summed. Where there is one level only, `inside` is a group of one.
struct ReducerLevels {
  ProcessGroup& all;     // every rank: agrees on the buckets
  ProcessGroup& inside;  // the ranks of one host, which sum first; its rank 0 speaks for them
  C10dGroup between;     // the hosts; null on ranks that do not speak for one
};

// A bucket whose sum over the ranks has begun.
struct BucketUnderWay {
  at::Tensor gradients;  // where the sum will be
  at::Tensor packed;     // where it is until then, in the wire's type; undefined when it is in `gradients`
  c10::intrusive_ptr<c10d::Work> between;  // null on ranks that do not speak for their host
  std::vector<size_t> parts;
};

// c10d's Reducer: sums buckets of gradients as they become ready (Li et al., PyTorch Distributed: Experiences
// on Accelerating Data Parallel Training, VLDB 2020). A bucket is summed inside the host at once, then on its
// way between the hosts while backward goes on. Its sum is read inside the host after backward, as soon as it
// is there: what is updated meanwhile hides the way of the buckets behind it.
class OverlappedReducer : public GradientReducer {
 public:
  // `on_wait` is called when this rank is about to wait for the sums.
  OverlappedReducer(const ReducerLevels& levels, const std::vector<at::Tensor>& parameters,
                    const ReducerOptions& options, std::function<void()> on_wait);

  const std::vector<ParameterPart>& parts() const override { return parts_; }
  bool is_divided() const override { return false; }
  void zero_gradients() override;
  void prepare(bool last) override;
  void finish(const PartsSummed& summed) override;
  void share_update() override {}

 private:
  ProcessGroup& inside_;
  std::vector<at::Tensor> parameters_;
  std::vector<ParameterPart> parts_;
  std::function<void()> on_wait_;
  std::vector<BucketUnderWay> buckets_;  // of the running step, in the order in which they were sent
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace dtrain
