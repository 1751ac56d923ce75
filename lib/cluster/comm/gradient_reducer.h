// Turns the gradients of replicas into one update.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"

namespace dtrain {

// A peer was lost before the gradients of a step were summed up (kPeerLost). Nothing is updated.
class StepLost : public Error {
 public:
  using Error::Error;
};

// Consecutive elements of a parameter: the share that one rank updates, or the whole parameter.
struct ParameterPart {
  size_t parameter;   // its index in the list of parameters
  int64_t begin;      // the first element, in memory order
  at::Tensor values;  // the elements themselves, not a copy; finish() puts their gradient into .grad()
  int64_t block = 0;  // the number of these elements among GradientReducer::blocks()
};

// Called with the parts whose sums are ready: one or more indices into GradientReducer::parts().
using PartsSummed = std::function<void(const std::vector<size_t>&)>;

// The calls of an optimizer step, in this order:
//   for each of the rank's virtual replicas (comm/replica_tree.h), or once:
//     zero_gradients();
//     for each micro-batch: prepare(whether it is the last); forward; backward (or put_gradient() of each);
//     end_replica();
//   finish();
//   run the optimizer on the values of parts(): on each when finish() reports it, or on all afterwards;
//   share_update();
// Each element of a parameter is in a part of every rank, or of exactly one rank. Where it is cheap to divide
// the sum, each rank sums and updates its own shard, and all ranks read the result (Xu et al. 2020, Automatic
// Cross-Replica Sharding of Weight Update in Data-Parallel Training, arXiv:2004.13336).
//
// This class is the reducer of a group of one. Groups with several ranks derive from it.
class GradientReducer {
 public:
  explicit GradientReducer(std::vector<at::Tensor> parameters);
  virtual ~GradientReducer() = default;
  GradientReducer(GradientReducer&&) = delete;  // nor copied

  // The parts that this rank updates. Does not change.
  const std::vector<ParameterPart>& parts() const { return parts_; }
  // How many ranks share out the elements: each is in a part of exactly one of the first shards() ranks, of
  // one of the next shards(), and so on. 1: each is in a part of every rank. The same on all ranks.
  virtual int shards() const { return 1; }
  // Into how many blocks the elements are cut, independent of which rank has them, so that sums over blocks
  // can have the same bits: each part is then one block. 0: the parts are not blocks.
  virtual int64_t blocks() const { return 0; }
  // What an optimizer keeps for each of this rank's parts: vectors of tensors of their sizes. With virtual
  // replicas, the ranks of the host share this memory, so that gather_parts() also finds the memory of a rank
  // that has died. Collective. The reducer must outlive the tensors.
  virtual void share_memories(const std::vector<std::vector<at::Tensor>>& /*of_parts*/) {}
  // Call between two steps: copies a tensor for each of the ranks' parts, of its size and type, into whole
  // tensors on rank 0. `memory`: its number in share_memories(). `whole`: one for each parameter, in its
  // layout, on the host; on other ranks none. Throws like finish().
  virtual void gather_parts(size_t memory, const std::vector<at::Tensor>& of_parts,
                            const std::vector<at::Tensor>& whole);
  // Call between two steps when a peer was lost. With virtual replicas throws StepLost as finish() does.
  virtual void lose_step(const std::string& /*failure*/) {}
  // Whether StepLost was thrown. gather_parts() then asks no other rank for anything.
  virtual bool has_lost_step() const { return false; }
  // Whether ranks sum during the backward pass, so that no rank has its own gradient in end_replica().
  virtual bool sums_early() const { return false; }
  // Drops all gradients, so that autograd keeps the next one that it computes and does not add it to zeros.
  void zero_gradients();
  // Call before the forward pass of a micro-batch. Only the backward pass of the last one communicates.
  virtual void prepare(bool /*last*/) {}
  // Instead of a backward pass of autograd: this is the gradient of parameter `parameter`, summed over the
  // micro-batches. Call it once for each parameter, the last ones first, between prepare(true) and
  // end_replica(). The reducer may read and change the gradient until the next zero_gradients().
  virtual void put_gradient(size_t parameter, const at::Tensor& gradient);
  // Memory for each parameter's gradient from which put_gradient() need not copy; empty: it makes no
  // difference. The reducer must outlive the tensors.
  virtual std::vector<at::Tensor> places_for_gradients() const { return {}; }
  // Call after the last backward pass of a virtual replica.
  virtual void end_replica() {}
  // Numbers that are exchanged together with the gradients: a row for each virtual replica, float64 [virtual
  // replicas, ReducerOptions::row_numbers]. Write this rank's rows before finish(), which fills in those of
  // the other ranks. They are valid until share_update().
  virtual at::Tensor rows() { return {}; }
  // Call after the last end_replica(). Returns when the gradient of each of this rank's parts is the sum over
  // all ranks and micro-batches. If `summed` is not empty, it is called for every part once, possibly while
  // the sums of other parts are still in transit. Throws Error(kPeerLost) if a peer is gone; with virtual
  // replicas StepLost, unless the host's other ranks have decided to make the step.
  virtual void finish(const PartsSummed& summed);
  // Call after the update. On return, all parameters of this rank are up to date. Throws like finish().
  virtual void share_update() {}

 protected:
  std::vector<at::Tensor> parameters_;
  std::vector<ParameterPart> parts_;  // the whole parameters, unless a derived class divides them
};

// Where the parameters live.
enum class Placement {
  kCopies,  // each rank has its own
  kShared,  // one copy for all ranks of the host
};

}  // namespace dtrain
