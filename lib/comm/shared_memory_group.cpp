// The process group of ranks on one host: tensors meet in shared memory, each rank sums a slice, everyone
// reads the sum.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "comm/process_group.h"
#include "comm/shared_barrier.h"
#include "comm/shared_segment.h"
#include "comm/slice_sum.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr size_t kLine = 64;                  // bytes of a cache line
constexpr size_t kChunk = size_t{512} << 10;  // what is exchanged at once fits the second-level cache
constexpr int kSpins = 4000;                  // some 100 us: about what shares of equal work differ by

size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

struct Slice {
  size_t begin;
  size_t end;
  size_t size() const { return end - begin; }
};

// The part of `bytes` that `rank` sums; whole cache lines, so that no two ranks write to one.
Slice slice_of(size_t bytes, int rank, int size) {
  const size_t step = round_up((bytes + static_cast<size_t>(size) - 1) / static_cast<size_t>(size), kLine);
  const size_t begin = std::min(bytes, step * static_cast<size_t>(rank));
  return {begin, std::min(bytes, begin + step)};
}

int spins_for(int size) {
  const unsigned cores = std::thread::hardware_concurrency();
  return static_cast<unsigned>(size) <= cores ? kSpins : 0;
}

// Gradients are copied side by side into shared memory once backward is done, each rank sums its slice of
// them, and the parameters' gradients become views of the sum. Where the same cores compute and reduce, this
// beats overlapping.
class FlatReducer : public GradientReducer {
 public:
  FlatReducer(const std::vector<at::Tensor>& parameters, const StorePtr& store, const std::string& name,
              int rank, int size, std::chrono::milliseconds timeout, SharedBarrier& barrier,
              std::function<void()> on_wait, PhaseClock& clock)
      : parameters_(parameters),
        rank_(rank),
        size_(size),
        barrier_(barrier),
        on_wait_(std::move(on_wait)),
        clock_(clock),
        dtype_(parameters.front().scalar_type()),
        layout_(parameters),
        segment_(store, name, rank, size, layout_.bytes * (static_cast<size_t>(size) + 1), timeout) {
    own_ = layout_.views(area(rank), parameters);
    sums_ = layout_.views(area(size), parameters);
  }
  ~FlatReducer() override { zero_gradients(); }  // no gradient may outlive the segment

  // Without a gradient, autograd keeps the one that it computes instead of adding it to zeros.
  void zero_gradients() override {
    for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
  }

  void prepare(bool /*last*/) override {}

  void finish() override {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].grad();
      gradient.defined() ? own_[i].copy_(gradient) : own_[i].zero_();
    }
    on_wait_();
    wait_for_peers();  // all gradients are in place, and everyone has used the sums of the step before
    sum_slice();
    wait_for_peers();  // all slices are summed
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = sums_[i];
  }

 private:
  // Where each parameter's gradient lies within an area, each at the start of a cache line.
  struct Layout {
    std::vector<size_t> offsets;
    size_t bytes = 0;
    explicit Layout(const std::vector<at::Tensor>& parameters) {
      for (const at::Tensor& parameter : parameters) {
        offsets.push_back(bytes);
        bytes = round_up(bytes + parameter.nbytes(), kLine);
      }
    }
    std::vector<at::Tensor> views(std::byte* area, const std::vector<at::Tensor>& parameters) const {
      std::vector<at::Tensor> all;
      for (size_t i = 0; i < parameters.size(); ++i) {
        all.push_back(at::from_blob(area + offsets[i], parameters[i].sizes(),
                                    parameters[i].options().requires_grad(false)));
      }
      return all;
    }
  };

  std::byte* area(int index) const { return segment_.data() + layout_.bytes * static_cast<size_t>(index); }

  void wait_for_peers() {
    clock_.enter(Phase::kWaitForPeers);
    barrier_.wait();
    clock_.enter(Phase::kCommunicate);
  }

  void sum_slice() {
    const Slice own = slice_of(layout_.bytes, rank_, size_);
    std::vector<const std::byte*> inputs;
    for (int other = 0; other < size_; ++other) inputs.push_back(area(other) + own.begin);
    sum_arrays(dtype_, inputs, {area(size_) + own.begin}, own.size() / at::elementSize(dtype_));
  }

  std::vector<at::Tensor> parameters_;
  int rank_;
  int size_;
  SharedBarrier& barrier_;
  std::function<void()> on_wait_;
  PhaseClock& clock_;
  at::ScalarType dtype_;
  Layout layout_;
  SharedSegment segment_;         // an area for each rank's gradients and one for their sum
  std::vector<at::Tensor> own_;   // this rank's area, by parameter
  std::vector<at::Tensor> sums_;  // the last area, by parameter
};

class SharedMemoryGroup : public ProcessGroup {
 public:
  SharedMemoryGroup(StorePtr store, int rank, int size, std::chrono::milliseconds timeout)
      : store_(std::move(store)),
        rank_(rank),
        size_(size),
        timeout_(timeout),
        segment_(store_, "collectives", rank, size,
                 slots_bytes(size) + 2 * kChunk * static_cast<size_t>(size), timeout),
        barrier_(reinterpret_cast<BarrierSlot*>(segment_.data()), rank, size, timeout, spins_for(size)) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // A rank's own part of the slice that it sums stays where it is; the others' parts come through their
  // areas, and the sum goes to them through its own. So nobody writes where another rank has written.
  void all_reduce_sum(at::Tensor& tensor) override {
    for_each_chunk(tensor, [&](std::byte* data, size_t bytes) {
      const Slice own = slice_of(bytes, rank_, size_);
      std::memcpy(area(rank_), data, own.begin);
      std::memcpy(area(rank_) + own.end, data + own.end, bytes - own.end);
      barrier_.wait();
      std::vector<const std::byte*> inputs;
      for (int other = 0; other < size_; ++other) {
        inputs.push_back((other == rank_ ? data : area(other)) + own.begin);
      }
      sum_arrays(tensor.scalar_type(), inputs, {data + own.begin, area(rank_) + own.begin},
                 own.size() / tensor.element_size());
      barrier_.wait();
      for (int other = 0; other < size_; ++other) {
        if (other == rank_) continue;
        const Slice slice = slice_of(bytes, other, size_);
        std::memcpy(data + slice.begin, area(other) + slice.begin, slice.size());
      }
    });
  }

  void broadcast(const std::vector<at::Tensor>& tensors, int root) override {
    for (const at::Tensor& tensor : tensors) {
      for_each_chunk(tensor, [&](std::byte* data, size_t bytes) {
        if (rank_ == root) std::memcpy(area(root), data, bytes);
        barrier_.wait();
        if (rank_ != root) std::memcpy(data, area(root), bytes);
      });
    }
  }

  void barrier() override {
    notify_wait();
    barrier_.wait();
  }

  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         int64_t /*bucket_bytes*/,
                                                         PhaseClock& clock) override {
    const std::string name = fmt::format("gradients-{}", reducers_++);
    return std::make_unique<FlatReducer>(
        parameters, store_, name, rank_, size_, timeout_, barrier_, [this] { notify_wait(); }, clock);
  }

 private:
  static size_t slots_bytes(int size) { return sizeof(BarrierSlot) * static_cast<size_t>(size); }

  // Two sets of areas take turns. A rank may still read from one while others fill the next; it is filled
  // again only after a barrier that the reader comes to when it has finished.
  std::byte* area(int index) const {
    const size_t number = static_cast<size_t>(turn_ * size_ + index);
    return segment_.data() + slots_bytes(size_) + kChunk * number;
  }

  template <typename Exchange>
  void for_each_chunk(const at::Tensor& tensor, const Exchange& exchange) {
    if (!tensor.is_contiguous() || !tensor.device().is_cpu()) {
      throw Error(ExitCode::kBug, "shared memory exchanges contiguous CPU tensors only");
    }
    notify_wait();
    auto* data = static_cast<std::byte*>(tensor.data_ptr());
    for (size_t done = 0; done < tensor.nbytes(); done += kChunk) {
      turn_ = 1 - turn_;
      exchange(data + done, std::min(kChunk, tensor.nbytes() - done));
    }
  }

  StorePtr store_;
  int rank_;
  int size_;
  std::chrono::milliseconds timeout_;
  SharedSegment segment_;  // the barrier's slots, then two areas for each rank
  SharedBarrier barrier_;
  int turn_ = 0;
  int reducers_ = 0;
};

}  // namespace

std::unique_ptr<ProcessGroup> make_shared_memory_group(const StorePtr& store, int rank, int size,
                                                       std::chrono::milliseconds timeout) {
  return std::make_unique<SharedMemoryGroup>(store, rank, size, timeout);
}

}  // namespace dtrain
