// The process group of ranks on one host: the ranks put tensors into shared memory, each rank sums a slice,
// and every rank reads the sums.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "comm/process_group.h"
#include "comm/sharded_reducer.h"
#include "core/error.h"
#include "shared_memory/shared_segment.h"
#include "shared_memory/slice_sum.h"

namespace dtrain {
namespace {

constexpr size_t kChunk = size_t{512} << 10;  // bytes exchanged at once; fits the second-level cache
constexpr int kSpins = 4000;  // about 100 us, which is about how much shares of equal work differ

class SharedMemoryGroup : public ProcessGroup {
 public:
  SharedMemoryGroup(StorePtr store, int rank, int size, std::chrono::milliseconds timeout)
      : ProcessGroup(rank, size),
        store_(std::move(store)),
        timeout_(timeout),
        segment_(store_, "collectives", rank, size,
                 slots_bytes(size) + 2 * kChunk * static_cast<size_t>(size), timeout),
        barrier_(reinterpret_cast<BarrierSlot*>(segment_.data()), rank, size, timeout, kSpins) {}

  // A rank's own part of the slice that it sums stays in place. The others' parts come through their areas,
  // and the sum goes to them through the rank's own area. So no rank writes where another rank has written.
  void all_reduce_sum(at::Tensor& tensor) override {
    for_each_chunk(tensor, [&](std::byte* data, size_t bytes) {
      const Slice own = slice_of(bytes, rank_, size_);
      std::memcpy(area(rank_), data, own.begin);
      std::memcpy(area(rank_) + own.end, data + own.end, bytes - own.end);
      barrier_.wait();
      std::vector<const std::byte*> inputs;
      for (int other = 0; other < size_; ++other)
        inputs.push_back((other == rank_ ? data : area(other)) + own.begin);
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

  ProcessGroup* between() override { return rank_ == 0 ? &alone_ : nullptr; }

  std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                         const ReducerOptions& options,
                                                         StepClock& clock) override {
    return make_sharded_reducer(parameters, options,
                                {.group = *this,
                                 .clock = clock,
                                 .store = store_,
                                 .name = fmt::format("gradients-{}", reducers_++),
                                 .timeout = timeout_,
                                 .barrier = &barrier_});
  }

 private:
  static size_t slots_bytes(int size) { return sizeof(BarrierSlot) * static_cast<size_t>(size); }

  // Two sets of areas alternate. While a rank still reads from one, others may fill the next. A set is filled
  // again only after a barrier, which every reader has then reached.
  std::byte* area(int index) const {
    const size_t number = static_cast<size_t>(turn_ * size_ + index);
    return segment_.data() + slots_bytes(size_) + kChunk * number;
  }

  template <typename Exchange>
  void for_each_chunk(const at::Tensor& tensor, const Exchange& exchange) {
    if (!tensor.is_contiguous() || !tensor.device().is_cpu())
      throw Error(ExitCode::kBug, "shared memory exchanges contiguous CPU tensors only");
    notify_wait();
    auto* data = static_cast<std::byte*>(tensor.data_ptr());
    for (size_t done = 0; done < tensor.nbytes(); done += kChunk) {
      turn_ = 1 - turn_;
      exchange(data + done, std::min(kChunk, tensor.nbytes() - done));
    }
  }

  StorePtr store_;
  std::chrono::milliseconds timeout_;
  SharedSegment segment_;  // the barrier's slots, then two areas for each rank
  SharedBarrier barrier_;
  int turn_ = 0;
  int reducers_ = 0;
  ProcessGroup alone_;  // of hosts, of which there is one
};

}  // namespace

std::unique_ptr<ProcessGroup> make_shared_memory_group(const StorePtr& store, int rank, int size,
                                                       std::chrono::milliseconds timeout) {
  return std::make_unique<SharedMemoryGroup>(store, rank, size, timeout);
}

}  // namespace dtrain
