#include "comm/gloo_group.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <unordered_map>
#include <utility>

#include "store/store.h"

namespace dtrain {
namespace {

class DoneWork : public c10d::Work {
 public:
  DoneWork() { finish(); }
};

// The Reducer needs a group, besides its hook, only after the first step, when rank 0 broadcasts its buckets.
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

// A bucket that is being summed over the ranks.
struct BucketUnderWay {
  at::Tensor gradients;  // receives the sum
  at::Tensor packed;     // holds the sum until then, in the wire type; undefined if `gradients` holds it
  c10::intrusive_ptr<c10d::Work> between;  // null on ranks that do not communicate for their host
  std::vector<size_t> parts;
};

using PartNumbers = std::unordered_map<const at::TensorImpl*, size_t>;  // the index of each parameter

// Starts summing a bucket over the ranks and leaves the waiting to finish(). It tells the Reducer that the
// bucket is done, so that backward returns at once. Without a hook the Reducer would also divide by the
// number of ranks, but the loss is already divided by the number of examples in the global batch.
class SumHook : public c10d::CppCommHookInterface<C10dGroup> {
 public:
  SumHook(const ReducerLevels& levels, std::optional<at::ScalarType> wire_type, PartNumbers numbers,
          std::vector<BucketUnderWay>& buckets)
      : CppCommHookInterface(levels.between),
        inside_(levels.inside),
        wire_type_(wire_type),
        numbers_(std::move(numbers)),
        buckets_(buckets) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    BucketUnderWay& sum = buckets_.emplace_back();
    sum.gradients = bucket.getBuffer();
    for (const at::Tensor& parameter : bucket.getParameters())
      sum.parts.push_back(numbers_.at(parameter.unsafeGetTensorImpl()));
    inside_.all_reduce_sum(sum.gradients);
    if (state_) {
      if (wire_type_) sum.packed = sum.gradients.to(*wire_type_);
      std::vector<at::Tensor> tensors = {wire_type_ ? sum.packed : sum.gradients};
      sum.between = state_->allreduce(tensors);
    }
    auto done = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
    done->markCompleted(c10::IValue(std::vector<at::Tensor>{sum.gradients}));
    return done;
  }

 private:
  ProcessGroup& inside_;
  std::optional<at::ScalarType> wire_type_;
  PartNumbers numbers_;
  std::vector<BucketUnderWay>& buckets_;
};

// A small first bucket lets communication start early, as in DistributedDataParallel. But for gradients of
// GPUs that fit into one bucket, starting a second collective takes longer than that gains.
size_t first_bucket_bytes(const std::vector<at::Tensor>& parameters, size_t bucket_bytes) {
  size_t bytes = 0;
  for (const at::Tensor& parameter : parameters) bytes += parameter.nbytes();
  const bool on_gpu = !parameters.empty() && !parameters.front().is_cpu();
  if (on_gpu && bytes <= bucket_bytes) return bucket_bytes;
  return std::min<size_t>(bucket_bytes, c10d::kDefaultFirstBucketBytes);
}

class OverlappedReducer : public GradientReducer {
 public:
  OverlappedReducer(const ReducerLevels& levels, const std::vector<at::Tensor>& parameters,
                    const ReducerOptions& options)
      : GradientReducer(parameters), all_(levels.all), inside_(levels.inside) {
    const std::vector<bool> dense(parameters.size(), false);
    const size_t first_bucket = first_bucket_bytes(parameters, static_cast<size_t>(options.bucket_bytes));
    auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
        parameters, {first_bucket, static_cast<size_t>(options.bucket_bytes)}, dense));
    std::reverse(buckets.begin(), buckets.end());  // gradients become ready from the last layer to the first
    reducer_ = std::make_unique<c10d::Reducer>(
        parameters, std::move(buckets), c10::make_intrusive<AgreementGroup>(levels.all), dense,
        options.bucket_bytes, /*find_unused_parameters=*/false,
        /*gradient_as_bucket_view=*/true, std::unordered_map<size_t, std::string>{},
        static_cast<int64_t>(first_bucket), /*skip_all_reduce_unused_params=*/false,
        /*use_python_reducer=*/false, std::vector<int64_t>{});
    PartNumbers numbers;
    for (size_t i = 0; i < parameters.size(); ++i) numbers[parameters[i].unsafeGetTensorImpl()] = i;
    reducer_->register_comm_hook(
        std::make_unique<SumHook>(levels, options.wire_type, std::move(numbers), buckets_));
  }

  bool sums_early() const override { return true; }

  void prepare(bool last) override {
    if (!last) return;  // without prepare_for_backward the Reducer lets gradients accumulate locally
    with_peer_errors("agreeing on gradient buckets", [this] {
      reducer_->prepare_for_forward();
      reducer_->rebuild_buckets();  // after the first step, in the order in which gradients became ready
    });
    reducer_->prepare_for_backward({});
    buckets_.clear();
  }

  // c10d's Reducer listens to autograd, which gets a graph that passes this gradient on to the parameter.
  void put_gradient(size_t parameter, const at::Tensor& gradient) override {
    const at::Tensor& variable = parameters_[parameter];
    with_peer_errors("summing gradients",
                     [&] { variable.view_as(variable).backward(gradient, /*retain_graph=*/false); });
  }

  void finish(const PartsSummed& summed) override {
    all_.notify_wait();
    const at::NoGradGuard no_grad;
    for (BucketUnderWay& bucket : buckets_) {
      with_peer_errors("summing gradients", [&bucket] {
        if (bucket.between) bucket.between->wait();
        if (bucket.packed.defined()) bucket.gradients.copy_(bucket.packed);
      });
      inside_.broadcast({bucket.gradients}, 0);
      if (summed) summed(bucket.parts);
    }
  }

 private:
  ProcessGroup& all_;
  ProcessGroup& inside_;
  std::vector<BucketUnderWay> buckets_;  // of the current step, in the order in which they were sent
  std::unique_ptr<c10d::Reducer> reducer_;
};

}  // namespace

std::unique_ptr<GradientReducer> make_overlapped_reducer(const ReducerLevels& levels,
                                                         const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options) {
  return std::make_unique<OverlappedReducer>(levels, parameters, options);
}

}  // namespace dtrain
