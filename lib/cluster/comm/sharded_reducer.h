// Sums and applies the gradients of the ranks of one host, in shards, through shared memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/shared_barrier.h"
#include "comm/shared_segment.h"
#include "comm/slice.h"
#include "core/step_clock.h"

namespace dtrain {

// All parameters, laid out one after the other, are cut into one slice for each rank. After backward, each
// rank puts its gradients for the others' slices into shared memory, adds the others' gradients for its own
// slice, and updates that slice. Then every rank reads the slices that the others updated. This moves two
// thirds of the bytes of an all-reduce followed by an update on every rank, and divides the optimizer's work.
// If the same cores compute and reduce, it is also faster than overlapping with backward.
class ShardedReducer : public GradientReducer {
 public:
  struct Meeting {
    StorePtr store;
    std::string name;  // of the segment; each name is used once
    int rank;
    int size;
    std::chrono::milliseconds timeout;
  };

  // Collective. `on_wait` is called when this rank is about to wait for others. The barrier and the clock
  // must outlive the reducer.
  ShardedReducer(const std::vector<at::Tensor>& parameters, Placement placement, const Meeting& meeting,
                 SharedBarrier& barrier, std::function<void()> on_wait, StepClock& clock);
  ~ShardedReducer() override;

  const std::vector<ParameterPart>& parts() const override { return parts_; }
  bool is_divided() const override { return true; }
  void gather_parts(const std::vector<at::Tensor>& of_parts, const std::vector<at::Tensor>& whole) override;
  void zero_gradients() override;
  void prepare(bool last) override;
  void put_gradient(size_t parameter, const at::Tensor& gradient) override;
  std::vector<at::Tensor> places_for_gradients() const override;
  void finish(const PartsSummed& summed) override;
  void share_update() override;

 private:
  // The bytes of parameter `parameter` that `owner` updates.
  struct Piece {
    size_t parameter;
    int owner;
    size_t within;  // their first byte within the parameter
    size_t offset;  // their first byte within an area
    size_t bytes;
  };

  void lay_out();
  void make_parts();
  void move_into_shared_memory();
  std::byte* gradients(int rank) const;  // the area of `rank`
  std::byte* variables() const;          // the last area
  std::byte* values_of(const Piece& piece) const;
  at::Tensor local_gradient(size_t parameter) const;
  void sum(const Piece& piece, const std::byte* own);
  void wait_for_peers();

  std::vector<at::Tensor> parameters_;
  Placement placement_;
  int rank_;
  int size_;
  SharedBarrier& barrier_;
  std::function<void()> on_wait_;
  StepClock& clock_;
  std::vector<Piece> pieces_;
  size_t area_bytes_ = 0;
  std::vector<ParameterPart> parts_;
  SharedSegment segment_;  // one area of gradients for each rank, and one of variables
};

}  // namespace dtrain
