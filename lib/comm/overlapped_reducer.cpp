#include "comm/overlapped_reducer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "comm/failure.h"
#include "comm/gradients.h"

namespace dtrain {
namespace {

using Future = c10::intrusive_ptr<c10::ivalue::Future>;

class DoneWork : public c10d::Work {
 public:
  DoneWork() { finish(); }
};

// What the Reducer needs a process group for, besides its hook: after the first step rank 0 tells everyone
// its buckets.
class AgreementGroup : public c10d::ProcessGroup {
 public:
  explicit AgreementGroup(dtrain::ProcessGroup& group)
      : c10d::ProcessGroup(group.rank(), group.size()), group_(group) {}

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    group_.broadcast(tensors, static_cast<int>(options.rootRank));
    return c10::make_intrusive<DoneWork>();
  }

 private:
  dtrain::ProcessGroup& group_;
};

Future done(const at::Tensor& tensor) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
  future->markCompleted(c10::IValue(std::vector<at::Tensor>{tensor}));
  return future;
}

// Sums a bucket over the ranks. Without a hook the Reducer would divide by the number of ranks, and the loss
// is already divided by the global number of examples.
class SumHook : public c10d::CppCommHookInterface<C10dGroup> {
 public:
  SumHook(const ReducerLevels& levels, std::optional<at::ScalarType> wire_type,
          std::vector<at::Tensor>& buckets, std::function<void()> on_wait)
      : CppCommHookInterface(levels.between),
        inside_(levels.inside),
        wire_type_(wire_type),
        buckets_(buckets),
        on_wait_(std::move(on_wait)) {}

  Future runHook(c10d::GradBucket& bucket) override {
    // From the last bucket on, all that is left of backward is waiting for the others.
    if (bucket.isLast()) on_wait_();
    at::Tensor& gradients = bucket.getBufferRef();
    buckets_.push_back(gradients);
    inside_.all_reduce_sum(gradients);
    return state_ ? sum_between(gradients) : done(gradients);
  }

 private:
  Future sum_between(const at::Tensor& gradients) {
    if (!wire_type_) return begin(gradients);
    const at::Tensor packed = gradients.to(*wire_type_);
    return begin(packed)->then(
        [gradients, packed](c10::ivalue::Future& sum) {
          sum.value();  // throws what went wrong
          const at::NoGradGuard no_grad;
          at::Tensor(gradients).copy_(packed);
          return c10::IValue(std::vector<at::Tensor>{gradients});
        },
        c10::ListType::ofTensors());
  }

  Future begin(const at::Tensor& tensor) {
    std::vector<at::Tensor> tensors = {tensor};
    return state_->allreduce(tensors)->getFuture();
  }

  ProcessGroup& inside_;
  std::optional<at::ScalarType> wire_type_;
  std::vector<at::Tensor>& buckets_;
  std::function<void()> on_wait_;
};

}  // namespace

OverlappedReducer::OverlappedReducer(const ReducerLevels& levels, const std::vector<at::Tensor>& parameters,
                                     const ReducerOptions& options, std::function<void()> on_wait)
    : inside_(levels.inside), parameters_(parameters), parts_(whole_parts(parameters)) {
  const std::vector<bool> dense(parameters.size(), false);
  // A small first bucket starts communicating early, as DistributedDataParallel does.
  const auto first_bucket =
      static_cast<size_t>(std::min<int64_t>(options.bucket_bytes, c10d::kDefaultFirstBucketBytes));
  auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
      parameters, {first_bucket, static_cast<size_t>(options.bucket_bytes)}, dense));
  std::reverse(buckets.begin(), buckets.end());  // gradients become ready from the last layer to the first
  reducer_ = std::make_unique<c10d::Reducer>(
      parameters, std::move(buckets), c10::make_intrusive<AgreementGroup>(levels.all), dense,
      options.bucket_bytes, /*find_unused_parameters=*/false,
      /*gradient_as_bucket_view=*/true, std::unordered_map<size_t, std::string>{},
      static_cast<int64_t>(first_bucket), /*skip_all_reduce_unused_params=*/false,
      /*use_python_reducer=*/false, std::vector<int64_t>{});
  reducer_->register_comm_hook(
      std::make_unique<SumHook>(levels, options.wire_type, buckets_, std::move(on_wait)));
}

void OverlappedReducer::zero_gradients() { zero_gradients_of(parameters_); }

void OverlappedReducer::prepare(bool last) {
  if (!last) return;  // without prepare_for_backward the Reducer lets gradients accumulate locally
  with_peer_errors("agreeing on gradient buckets", [this] {
    reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();  // after the first step, by the order in which gradients became ready
  });
  reducer_->prepare_for_backward({});
  buckets_.clear();
}

// Backward has returned, so every bucket has arrived at the rank that speaks for the host.
void OverlappedReducer::finish() { inside_.broadcast(buckets_, 0); }

}  // namespace dtrain
