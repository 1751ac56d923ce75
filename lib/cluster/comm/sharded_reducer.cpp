#include "comm/sharded_reducer.h"

#include <ATen/ATen.h>

#include <cstring>
#include <utility>

#include "comm/shared_segment.h"
#include "comm/slice_sum.h"
#include "core/error.h"

namespace dtrain {
namespace {

// The size of an area, in which each parameter begins a cache line.
size_t bytes_of(const std::vector<at::Tensor>& parameters) {
  size_t bytes = 0;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.is_contiguous() || !parameter.device().is_cpu()) {
      throw Error(ExitCode::kBug, "shared memory takes contiguous CPU parameters only");
    }
    bytes += whole_lines(parameter.nbytes());
  }
  return bytes;
}

std::byte* data_of(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

// All parameters, laid out one after the other, are cut into one slice for each rank. After backward, each
// rank puts its gradients for the others' slices into shared memory, adds the others' gradients for its own
// slice, and updates that slice. Then every rank reads the slices that the others updated. This moves two
// thirds of the bytes of an all-reduce followed by an update on every rank, and divides the optimizer's work.
// If the same cores compute and reduce, it is also faster than overlapping with backward.
class ShardedReducer : public GradientReducer {
 public:
  ShardedReducer(const std::vector<at::Tensor>& parameters, Placement placement,
                 const ReducerMeeting& meeting, SharedBarrier& barrier, std::function<void()> on_wait,
                 StepClock& clock)
      : GradientReducer(parameters),
        placement_(placement),
        rank_(meeting.rank),
        size_(meeting.size),
        barrier_(barrier),
        on_wait_(std::move(on_wait)),
        clock_(clock),
        area_bytes_(bytes_of(parameters)),
        segment_(meeting.store, meeting.name, rank_, size_, area_bytes_ * (static_cast<size_t>(size_) + 1),
                 meeting.timeout) {
    parts_.clear();
    lay_out();
    if (placement_ == Placement::kShared) move_into_shared_memory();
    make_parts();
  }

  // No tensor may outlive the segment whose memory it uses.
  ~ShardedReducer() override {
    zero_gradients();
    for (ParameterPart& part : parts_) part.values.mutable_grad() = at::Tensor();
    if (placement_ != Placement::kShared) return;
    for (at::Tensor& parameter : parameters_) parameter.set_data(parameter.detach().clone());
  }

  // Those of this rank's area.
  std::vector<at::Tensor> places_for_gradients() const override {
    std::vector<at::Tensor> places;
    std::byte* place = gradients(rank_);
    for (const at::Tensor& parameter : parameters_) {
      places.push_back(at::from_blob(place, parameter.sizes(), parameter.options().requires_grad(false)));
      place += whole_lines(parameter.nbytes());
    }
    return places;
  }

  void finish(const PartsSummed& summed) override {
    std::vector<at::Tensor> local;
    for (size_t i = 0; i < parameters_.size(); ++i) local.push_back(local_gradient(i));
    for (const Piece& piece : pieces_) {
      std::byte* const from = data_of(local[piece.parameter]) + piece.within;
      std::byte* const to = gradients(rank_) + piece.offset;
      if (piece.owner != rank_ && from != to) std::memcpy(to, from, piece.bytes);
    }
    on_wait_();
    wait_for_peers();  // the others' gradients for this rank are there, and all have finished the last step
    for (const Piece& piece : pieces_) {
      if (piece.owner == rank_) sum(piece, data_of(local[piece.parameter]) + piece.within);
    }
    GradientReducer::finish(summed);
  }

  void share_update() override {
    const bool copies = placement_ == Placement::kCopies;
    for (const Piece& piece : pieces_) {
      if (copies && piece.owner == rank_) {
        std::memcpy(variables() + piece.offset, values_of(piece), piece.bytes);
      }
    }
    wait_for_peers();  // all slices are updated, and no rank reads gradients any more
    for (const Piece& piece : pieces_) {
      if (copies && piece.owner != rank_) {
        std::memcpy(values_of(piece), variables() + piece.offset, piece.bytes);
      }
    }
  }

  // Through the areas of gradients, which nobody needs between two steps.
  void gather_parts(const std::vector<at::Tensor>& of_parts, const std::vector<at::Tensor>& whole) override {
    auto own = of_parts.begin();
    for (const Piece& piece : pieces_) {
      if (piece.owner == rank_) std::memcpy(gradients(rank_) + piece.offset, data_of(*own++), piece.bytes);
    }
    on_wait_();
    barrier_.wait();
    for (const Piece& piece : pieces_) {
      if (rank_ != 0) break;
      std::memcpy(data_of(whole[piece.parameter]) + piece.within, gradients(piece.owner) + piece.offset,
                  piece.bytes);
    }
    barrier_.wait();
  }

  bool is_divided() const override { return true; }

 private:
  // The bytes of parameter `parameter` that `owner` updates.
  struct Piece {
    size_t parameter;
    int owner;
    size_t within;  // their first byte within the parameter
    size_t offset;  // their first byte within an area
    size_t bytes;
  };

  void lay_out() {
    size_t offset = 0;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Slice whole{offset, offset + parameters_[i].nbytes()};
      for (int owner = 0; owner < size_; ++owner) {
        const Slice piece = common(whole, slice_of(area_bytes_, owner, size_));
        if (piece.size() > 0) pieces_.push_back({i, owner, piece.begin - offset, piece.begin, piece.size()});
      }
      offset += whole_lines(whole.size());
    }
  }

  void make_parts() {
    for (const Piece& piece : pieces_) {
      if (piece.owner != rank_) continue;
      const at::Tensor flat = parameters_[piece.parameter].detach().view(-1);
      const auto element = static_cast<int64_t>(flat.element_size());
      const auto begin = static_cast<int64_t>(piece.within) / element;
      const auto count = static_cast<int64_t>(piece.bytes) / element;
      at::Tensor values = flat.narrow(0, begin, count);
      // No other rank reads this part of this rank's area.
      values.mutable_grad() = at::from_blob(gradients(rank_) + piece.offset, values.sizes(),
                                            values.options().requires_grad(false));
      parts_.push_back({piece.parameter, begin, std::move(values)});
    }
  }

  // From here on the parameters of all ranks are the same memory.
  void move_into_shared_memory() {
    const at::NoGradGuard no_grad;
    size_t offset = 0;
    for (at::Tensor& parameter : parameters_) {
      const at::Tensor place =
          at::from_blob(variables() + offset, parameter.sizes(), parameter.options().requires_grad(false));
      if (rank_ == 0) place.copy_(parameter);
      parameter.set_data(place);
      offset += whole_lines(parameter.nbytes());
    }
    barrier_.wait();
  }

  std::byte* gradients(int rank) const { return segment_.data() + area_bytes_ * static_cast<size_t>(rank); }

  std::byte* variables() const { return gradients(size_); }

  std::byte* values_of(const Piece& piece) const {
    return data_of(parameters_[piece.parameter]) + piece.within;
  }

  // The gradient as autograd left it. It may be undefined (the parameter took no part), or have another
  // memory layout than the parameter.
  at::Tensor local_gradient(size_t parameter) const {
    const at::Tensor& gradient = parameters_[parameter].grad();
    return gradient.defined() ? gradient.contiguous() : at::zeros_like(parameters_[parameter]).detach();
  }

  // Sums in the order of the ranks, so that the same gradients always give the same bits.
  void sum(const Piece& piece, const std::byte* own) {
    std::vector<const std::byte*> inputs;
    for (int other = 0; other < size_; ++other) {
      inputs.push_back(other == rank_ ? own : gradients(other) + piece.offset);
    }
    const at::ScalarType type = parameters_[piece.parameter].scalar_type();
    sum_arrays(type, inputs, {gradients(rank_) + piece.offset}, piece.bytes / at::elementSize(type));
  }

  void wait_for_peers() {
    clock_.enter(StepTime::kWaitForPeers);
    barrier_.wait();
    clock_.enter(StepTime::kCommunicate);
  }

  Placement placement_;
  int rank_;
  int size_;
  SharedBarrier& barrier_;
  std::function<void()> on_wait_;
  StepClock& clock_;
  std::vector<Piece> pieces_;
  size_t area_bytes_ = 0;
  SharedSegment segment_;  // one area of gradients for each rank, and one of variables
};

}  // namespace

std::unique_ptr<GradientReducer> make_sharded_reducer(const std::vector<at::Tensor>& parameters,
                                                      Placement placement, const ReducerMeeting& meeting,
                                                      SharedBarrier& barrier, std::function<void()> on_wait,
                                                      StepClock& clock) {
  return std::make_unique<ShardedReducer>(parameters, placement, meeting, barrier, std::move(on_wait), clock);
}

}  // namespace dtrain
