#include "train/features.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "comm/shared_barrier.h"
#include "comm/shared_segment.h"
#include "core/clock.h"
#include "core/error.h"
#include "data/number_source.h"
#include "loader/batches.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

constexpr int64_t kBatchesBetweenMeetings =
    16;  // so that nobody waits long for a slower one, or for a dead one
constexpr int kSpins = 100;

// Memory of the replicas of this host, with a barrier among them.
class HostMemory {
 public:
  HostMemory(const ReplicaContext& context, const std::string& name, int64_t bytes)
      : size_(context.identity.local_world_size),
        timeout_(to_milliseconds(context.job.spec.strategy.timeout_seconds)),
        segment_(context.store, fmt::format("{}/host {}", name, context.identity.host),
                 context.identity.local_rank, size_, slots_bytes() + static_cast<size_t>(bytes), timeout_),
        barrier_(reinterpret_cast<BarrierSlot*>(segment_.data()), context.identity.local_rank, size_,
                 timeout_, kSpins) {}

  std::byte* data() const { return segment_.data() + slots_bytes(); }
  void meet() { barrier_.wait(); }

 private:
  size_t slots_bytes() const { return sizeof(BarrierSlot) * static_cast<size_t>(size_); }

  int size_;
  std::chrono::milliseconds timeout_;
  SharedSegment segment_;
  SharedBarrier barrier_;
};

// Takes tensors out of that memory, one after the other.
class Places {
 public:
  explicit Places(std::shared_ptr<HostMemory> memory) : memory_(std::move(memory)) {}

  // Lives as long as the tensor.
  at::Tensor next(const std::vector<int64_t>& shape, at::ScalarType dtype) {
    std::byte* const place = memory_->data() + used_;
    const at::Tensor tensor = at::from_blob(
        place, shape, [memory = memory_](void*) {}, at::TensorOptions(dtype));
    used_ += tensor.nbytes();
    return tensor;
  }

 private:
  std::shared_ptr<HostMemory> memory_;
  size_t used_ = 0;
};

// How this replica reads its part of the examples of this host.
LoaderOptions part_options(const ReplicaContext& context) {
  LoaderOptions options = evaluation_options(context.job, context.run, /*rank=*/0);
  const int64_t here = context.identity.local_world_size;
  options.rank = context.identity.local_rank;
  options.plan.replicas = here;
  options.plan.global = options.plan.per_replica * here;
  return options;
}

// How many numbers the features and the targets of a part of the dataset are.
int64_t numbers_of(const ExampleSourcePtr& source, int64_t features) {
  return source ? source->size() * (features + source->targets()) : 0;
}

class FeatureMaker {
 public:
  FeatureMaker(const ReplicaContext& context, const PhasePlan& phase, Model& model, const Dataset& dataset)
      : phase_(phase),
        model_(model),
        dtype_(dtype_from_name(context.job.spec.model.dtype)),
        shape_(context.job.model.layers[static_cast<size_t>(phase.features.layers - 1)].output_shape),
        options_(part_options(context)),
        memory_(std::make_shared<HostMemory>(context, fmt::format("features from step {}", phase.first_step),
                                             bytes_of(dataset))),
        places_(memory_) {}

  ExampleSourcePtr make(const ExampleSourcePtr& source) {
    if (source == nullptr) return nullptr;
    std::vector<int64_t> shape = shape_;
    shape.insert(shape.begin(), source->size());
    LabelledImages made{places_.next(shape, dtype_), source->classes()};
    if (source->targets() > 0) made.labels = places_.next({source->size(), source->targets()}, dtype_);
    ShareLoader parts(source, options_);
    parts.start_epoch(0);
    for (int64_t batches = 0; const std::optional<Share> share = parts.next(); ++batches) {
      fill(*share, made);
      if (batches % kBatchesBetweenMeetings == 0) memory_->meet();
    }
    memory_->meet();
    return make_number_source(made);
  }

 private:
  int64_t bytes_of(const Dataset& dataset) const {
    int64_t numbers = 0;
    for (const ExampleSourcePtr& part : {dataset.train, dataset.validation, dataset.test})
      numbers += numbers_of(part, phase_.features.numbers);
    return numbers * static_cast<int64_t>(at::elementSize(dtype_));
  }

  void fill(const Share& share, const LabelledImages& made) {
    int64_t row = share.indices.empty() ? 0 : share.indices.front();  // they are consecutive
    for (const MicroBatch& part : share.micro_batches) {
      const Batch batch = part.assemble();
      if (batch.size() == 0) continue;
      made.images.narrow(0, row, batch.size()).copy_(model_.features(batch.inputs, phase_.features.layers));
      if (made.labels.is_floating_point()) made.labels.narrow(0, row, batch.size()).copy_(batch.targets);
      row += batch.size();
    }
  }

  const PhasePlan& phase_;
  Model& model_;
  at::ScalarType dtype_;
  Shape shape_;
  LoaderOptions options_;
  std::shared_ptr<HostMemory> memory_;
  Places places_;
};

}  // namespace

Dataset with_features(const ReplicaContext& context, const PhasePlan& phase, Model& model,
                      const Dataset& dataset) {
  const at::NoGradGuard no_grad;
  FeatureMaker maker(context, phase, model, dataset);
  Dataset made{dataset.info, maker.make(dataset.train), maker.make(dataset.test),
               maker.make(dataset.validation)};
  return made;
}

}  // namespace dtrain
