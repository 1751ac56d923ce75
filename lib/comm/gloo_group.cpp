// The one file that meets gloo's types: Debian's headers compile against the gloo inside LibTorch as long as
// only pointers to them cross over, so nothing here does more than construct ProcessGroupGloo.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdlib>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "comm/failure.h"
#include "comm/gradients.h"
#include "comm/process_group.h"
#include "comm/socket_filter.h"
#include "core/error.h"

namespace dtrain {
namespace {

using C10dGroup = c10::intrusive_ptr<c10d::ProcessGroup>;

// c10d records every collective for a post-mortem that nobody here reads. Before main(), as changing the
// environment later is a race.
[[maybe_unused]] const int no_flight_recorder = ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);

// Sums a bucket over the ranks. Without a hook the Reducer would divide by the number of ranks, and the loss
// is already divided by the global number of examples.
class SumHook : public c10d::CppCommHookInterface<C10dGroup> {
 public:
  SumHook(C10dGroup group, std::function<void()> on_last_bucket)
      : CppCommHookInterface(std::move(group)), on_last_bucket_(std::move(on_last_bucket)) {}

  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    // From the last bucket on, all that is left of backward is waiting for the others.
    if (bucket.isLast()) on_last_bucket_();
    std::vector<at::Tensor> tensors = {bucket.getBufferRef()};
    return state_->allreduce(tensors)->getFuture();
  }

 private:
  std::function<void()> on_last_bucket_;
};

// c10d's Reducer: sums buckets of gradients while backward still computes earlier layers (Li et al., PyTorch
// Distributed: Experiences on Accelerating Data Parallel Training, VLDB 2020).
class OverlappedReducer : public GradientReducer {
 public:
  OverlappedReducer(const C10dGroup& group, const std::vector<at::Tensor>& parameters, int64_t bucket_bytes,
                    std::function<void()> on_wait)
      : parameters_(parameters), parts_(whole_parts(parameters)) {
    const std::vector<bool> dense(parameters.size(), false);
    // A small first bucket starts communicating early, as DistributedDataParallel does.
    const auto first_bucket =
        static_cast<size_t>(std::min<int64_t>(bucket_bytes, c10d::kDefaultFirstBucketBytes));
    auto buckets = std::get<0>(c10d::compute_bucket_assignment_by_size(
        parameters, {first_bucket, static_cast<size_t>(bucket_bytes)}, dense));
    std::reverse(buckets.begin(), buckets.end());  // gradients become ready from the last layer to the first
    reducer_ = std::make_unique<c10d::Reducer>(
        parameters, std::move(buckets), group, dense, bucket_bytes, /*find_unused_parameters=*/false,
        /*gradient_as_bucket_view=*/true, std::unordered_map<size_t, std::string>{},
        static_cast<int64_t>(first_bucket), /*skip_all_reduce_unused_params=*/false,
        /*use_python_reducer=*/false, std::vector<int64_t>{});
    reducer_->register_comm_hook(std::make_unique<SumHook>(group, std::move(on_wait)));
  }

  const std::vector<ParameterPart>& parts() const override { return parts_; }

  void zero_gradients() override { zero_gradients_of(parameters_); }

  void prepare(bool last) override {
    if (!last) return;  // without prepare_for_backward the Reducer lets gradients accumulate locally
    with_peer_errors("agreeing on gradient buckets", [this] {
      reducer_->prepare_for_forward();
      reducer_->rebuild_buckets();  // after the first step, by the order in which gradients became ready
    });
    reducer_->prepare_for_backward({});
  }

  void finish() override {}  // backward returned, so every bucket has arrived
  void share_update() override {}

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<ParameterPart> parts_;
  std::unique_ptr<c10d::Reducer> reducer_;
};

class GlooGroup : public ProcessGroup {
 public:
  GlooGroup(C10dGroup group, int rank, int size) : group_(std::move(group)), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce_sum(at::Tensor& tensor) override {
    run("all-reduce", [&] {
      std::vector<at::Tensor> tensors = {tensor};
      group_->allreduce(tensors)->wait();
    });
  }

  void broadcast(const std::vector<at::Tensor>& tensors, int root) override {
    run("broadcast", [&] { c10d::broadcast_coalesced(group_, tensors, kBroadcastBytes, root); });
  }

  void barrier() override {
    // Not ProcessGroup::barrier: it assigns to a static tensor, which groups on several threads race for.
    run("barrier", [&] { group_->getBackend(c10::DeviceType::CPU)->barrier()->wait(); });
  }

  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         PhaseClock& clock) override {
    if (options.placement != Placement::kCopies) {
      throw Error(ExitCode::kBug, "gloo does not share variables");
    }
    // What backward did not hide begins with the last bucket.
    return std::make_unique<OverlappedReducer>(group_, parameters, options.bucket_bytes, [this, &clock] {
      notify_wait();
      clock.enter(Phase::kCommunicate);
    });
  }

 private:
  static constexpr size_t kBroadcastBytes = size_t{64} << 20;

  void run(const char* what, const std::function<void()>& body) {
    notify_wait();
    with_peer_errors(what, body);
  }

  C10dGroup group_;
  int rank_;
  int size_;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                              int size, std::chrono::milliseconds timeout,
                                              const GroupNetwork& network) {
  std::unique_ptr<ProcessGroup> result;
  with_peer_errors(fmt::format("rank {} meeting {} others", rank, size - 1), [&] {
    const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("gloo", store);
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    const auto open_device = [&] {
      options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(network.address));
    };
    // A device listens, takes who connects for the peer whose number he sends, and asks for nothing else.
    for (const int socket : sockets_opened_by(open_device)) {
      if (!network.members.empty() && is_listening(socket)) admit_only(socket, network.members);
    }
    const auto backend =
        c10::make_intrusive<c10d::ProcessGroupGloo>(prefixed, rank, size, std::move(options));
    auto group = c10::make_intrusive<c10d::ProcessGroup>(prefixed, rank, size);
    group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
    group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, backend);
    result = std::make_unique<GlooGroup>(std::move(group), rank, size);
  });
  return result;
}

}  // namespace dtrain
