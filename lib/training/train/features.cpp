#include "train/replica.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "callbacks/callbacks.h"
#include "core/checksum.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/text.h"
#include "data/example_source.h"
#include "features/feature_file.h"
#include "features/feature_key.h"
#include "loader/batches.h"
#include "shared_memory/shared_barrier.h"
#include "shared_memory/shared_segment.h"
#include "train/assembly.h"
#include "train/meeting.h"

namespace dtrain {
namespace {

constexpr int64_t kBatchesBetweenMeetings =
    16;  // so that nobody waits long for a slower one, or for a dead one
constexpr int kSpins = 100;
constexpr double kSecondsBetweenNotes = 1;  // for other hosts
constexpr double kSlowSeconds = 1;          // FeatureFile::kIfSlow: what is computed sooner needs no file

// What one replica tells the others of its host between two barriers.
struct alignas(64) ReplicaNote {
  char examples[kChecksumDigits];  // of its part of them
  bool has_read;                   // the first one's: the features come from the file
};

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
  ReplicaNote& note_of(int replica) const {
    return reinterpret_cast<ReplicaNote*>(segment_.data() +
                                          sizeof(BarrierSlot) * static_cast<size_t>(size_))[replica];
  }
  void meet() { barrier_.wait(); }

 private:
  size_t slots_bytes() const {
    return (sizeof(BarrierSlot) + sizeof(ReplicaNote)) * static_cast<size_t>(size_);
  }

  int size_;
  std::chrono::milliseconds timeout_;
  SharedSegment segment_;
  SharedBarrier barrier_;
};

// How this replica reads its part of the examples of this host.
LoaderOptions part_options(const ReplicaContext& context) {
  LoaderOptions options = evaluation_options(context.job, context.run, /*rank=*/0);
  const int64_t here = context.identity.local_world_size;
  const int64_t parts = context.run.virtual_replicas > 0 ? context.run.virtual_replicas : here;
  options.own = share_of({0, parts}, context.identity.local_rank, here);
  options.plan.parts = parts;
  options.plan.global = options.plan.per_replica * parts;
  return options;
}

// Of the features and the targets of all examples.
int64_t bytes_of(const PhasePlan& phase, const Dataset& dataset, at::ScalarType dtype) {
  int64_t numbers = 0;
  for (const ExampleSourcePtr& part : {dataset.train, dataset.validation, dataset.test})
    if (part) numbers += part->size() * (phase.features.numbers + part->targets());
  return numbers * static_cast<int64_t>(at::elementSize(dtype));
}

class FeatureMaker {
 public:
  // `hosts`: as for kept_features().
  FeatureMaker(const ReplicaContext& context, const PhasePlan& phase, Model& model,
               std::shared_ptr<HostMemory> memory, StorePtr hosts)
      : phase_(phase),
        model_(model),
        dtype_(dtype_from_name(context.job.spec.model.dtype)),
        shape_(context.job.model.layers[static_cast<size_t>(phase.features.layers - 1)].output_shape),
        options_(part_options(context)),
        memory_(std::move(memory)),
        hosts_(std::move(hosts)) {}

  // Where the features of `source` lie, or will lie when they are computed.
  StoredExamples place(const ExampleSourcePtr& source) {
    if (source == nullptr) return {};
    std::vector<int64_t> shape = shape_;
    shape.insert(shape.begin(), source->size());
    StoredExamples placed{next(shape), source->classes()};
    if (source->targets() > 0) placed.targets = next({source->size(), source->targets()});
    return placed;
  }

  // Collective.
  void compute(const ExampleSourcePtr& source, const StoredExamples& placed) {
    if (source == nullptr) return;
    ShareLoader parts(source, options_);
    parts.start_epoch(0);
    for (int64_t batches = 0; const std::optional<Share> share = parts.next(); ++batches) {
      fill(*share, placed);
      tell_hosts();
      if (batches % kBatchesBetweenMeetings == 0) memory_->meet();
    }
    memory_->meet();
  }

 private:
  // A tensor in the memory, after the last one; the memory lives as long as the tensor.
  at::Tensor next(const std::vector<int64_t>& shape) {
    const at::Tensor tensor = at::from_blob(
        memory_->data() + used_, shape, [memory = memory_](void*) {}, at::TensorOptions(dtype_));
    used_ += tensor.nbytes();
    return tensor;
  }

  void tell_hosts() {
    if (!hosts_ || steady_seconds() < due_) return;
    due_ = steady_seconds() + kSecondsBetweenNotes;
    note_work(hosts_);
  }

  void fill(const Share& share, const StoredExamples& made) {
    int64_t row = share.indices.empty() ? 0 : share.indices.front();  // they are consecutive
    for (const MicroBatch& part : share.micro_batches) {
      const Batch batch = part.assemble();
      if (batch.size() == 0) continue;
      made.inputs.narrow(0, row, batch.size()).copy_(model_.features(batch.inputs, phase_.features.layers));
      if (made.targets.is_floating_point()) made.targets.narrow(0, row, batch.size()).copy_(batch.targets);
      row += batch.size();
    }
  }

  const PhasePlan& phase_;
  Model& model_;
  at::ScalarType dtype_;
  Shape shape_;
  LoaderOptions options_;
  std::shared_ptr<HostMemory> memory_;
  size_t used_ = 0;  // bytes of it
  StorePtr hosts_;
  double due_ = 0;  // when they are told again
};

// The file of a phase's features. The first replica of the host reads and writes it, while the others wait
// for it at barriers that follow each other soon enough.
class FeatureStore {
 public:
  FeatureStore(const ReplicaContext& context, const PhasePlan& phase, const Model& model,
               const Dataset& dataset, HostMemory& memory)
      : context_(context), phase_(phase), memory_(memory), replica_(context.identity.local_rank) {
    const int parts = context.identity.local_world_size;
    const at::ScalarType dtype = dtype_from_name(context.job.spec.model.dtype);
    const std::string own =
        checksum_of_examples(dataset, {replica_, parts}, dtype, [this] { memory_.meet(); });
    std::copy(own.begin(), own.end(), memory.note_of(replica_).examples);
    memory.meet();
    block_.bytes = bytes_of(phase, dataset, dtype);
    if (replica_ > 0) return;
    std::vector<std::string> examples;
    for (int part = 0; part < parts; ++part)
      examples.emplace_back(memory.note_of(part).examples, kChecksumDigits);
    const LoaderOptions options = part_options(context);
    block_.key = feature_key(model,
                             {.layers = phase.features.layers,
                              .normalisation = options.format.normalisation,
                              .channels_last = options.format.channels_last,
                              .batch = options.plan.per_replica,
                              .parts = options.plan.parts,
                              .threads = context.run.threads_of_libtorch()},
                             examples);
    const DatasetInfo& info = dataset.info;
    block_.examples = info.train_examples + info.validation_examples + info.test_examples;
    block_.shape = context.job.model.layers[static_cast<size_t>(phase.features.layers - 1)].output_shape;
    block_.source = info.source == "generated" ? info.name : info.source;
  }

  // Collective. Whether the features are in the memory now.
  bool read() {
    in_parts([this](const AfterPart& after_part) {
      bool& has_read = memory_.note_of(0).has_read;
      has_read = read_features(block_, memory_.data(), after_part);
      if (has_read) tell("read from", "");
      std::error_code none;
      if (!has_read && std::filesystem::exists(feature_path(block_.key), none))
        tell("computed again, for this file is damaged:", "");
    });
    memory_.meet();
    return memory_.note_of(0).has_read;
  }

  // Collective.
  void write(double seconds) {
    in_parts([&](const AfterPart& after_part) {
      if (phase_.features.file == FeatureFile::kIfSlow && seconds < kSlowSeconds) return;
      if (write_features(block_, memory_.data(), context_.job.spec.data.cache_gigabytes, after_part))
        tell("kept for later runs in", "; `dtrain cache` lists and removes it");
    });
  }

 private:
  // Lets the first replica do `work`, and meets the others as often as there are parts, whatever becomes of
  // the work. A fault of the disk costs later runs their file, and no more.
  template <class Work>
  void in_parts(const Work& work) {
    int64_t left = feature_file_parts(block_.bytes);
    const auto meet = [&] {
      --left;
      memory_.meet();
    };
    try {
      if (replica_ == 0) work(meet);
    } catch (const Error& error) {
      if (error.code() == ExitCode::kPeerLost) throw;
      tell_line(fmt::format("the features are not kept on disk: {}", error.what()));
    }
    while (left > 0) meet();
  }

  void tell(const std::string& what, const std::string& more) {
    tell_line(fmt::format("features of {}: {} {}{}", phase_title(context_.run.phases, phase_), what,
                          printable(feature_path(block_.key).string(), 1000), more));
  }

  void tell_line(const std::string& line) { context_.sink.on_event(message_event(context_.run, line)); }

  const ReplicaContext& context_;
  const PhasePlan& phase_;
  HostMemory& memory_;
  int replica_;
  FeatureBlock block_;
};

ExampleSourcePtr source_of(const ExampleSourcePtr& examples, const StoredExamples& features) {
  if (examples == nullptr) return nullptr;
  return make_memory_source(
      features, [examples](std::span<const int64_t> indices) { return examples->names_of(indices); });
}

// `hosts`: where others wait until the features are there; null: on one host.
Dataset kept_features(const ReplicaContext& context, const PhasePlan& phase, Model& model,
                      const Dataset& dataset, int64_t call, const StorePtr& hosts) {
  const at::NoGradGuard no_grad;
  const int64_t bytes = bytes_of(phase, dataset, dtype_from_name(context.job.spec.model.dtype));
  const auto memory = std::make_shared<HostMemory>(context, fmt::format("features {}", call), bytes);
  FeatureMaker maker(context, phase, model, memory, hosts);
  const StoredExamples train = maker.place(dataset.train), test = maker.place(dataset.test),
                       validation = maker.place(dataset.validation);
  std::optional<FeatureStore> store;
  // Of several hosts one may find a file and the others none.
  if (phase.features.file != FeatureFile::kNone &&
      context.identity.local_world_size == context.run.processes())
    store.emplace(context, phase, model, dataset, *memory);
  if (!store || !store->read()) {
    const double begin = steady_seconds();
    maker.compute(dataset.train, train);
    maker.compute(dataset.test, test);
    maker.compute(dataset.validation, validation);
    if (store) store->write(steady_seconds() - begin);
  }
  return {dataset.info, source_of(dataset.train, train), source_of(dataset.test, test),
          source_of(dataset.validation, validation)};
}

}  // namespace

Dataset with_features(const ReplicaContext& context, const PhasePlan& phase, Model& model,
                      const Dataset& dataset, int64_t call) {
  const auto& [job, run, identity, store, files, board, sink] = context;
  const bool meets = phase.features.may_be_kept() && identity.spans_hosts() && !run.is_asynchronous();
  StorePtr hosts;
  if (meets)
    hosts = c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}/features {}", run.name(), call), store);
  const bool keeps = phase.features.layers > 0;
  Dataset made = keeps ? kept_features(context, phase, model, dataset, call, hosts) : dataset;
  // One host may keep none, or be faster. What ends the wait for one that is dead or stands still: the
  // supervisors, the end of the store, or else that nobody says any more that it is at work.
  if (meets)
    wait_for_ranks(
        hosts, identity.rank, static_cast<int>(run.training_processes()),
        std::max(rendezvous_timeout(job.spec), to_milliseconds(job.spec.strategy.timeout_seconds)));
  return made;
}

}  // namespace dtrain
