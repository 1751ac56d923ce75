// How the gradients of replicas become one update: a small part with one implementation per kind of group.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace dtrain {

// Some consecutive elements of a parameter: one rank's share of the update, or all of it.
struct ParameterPart {
  size_t parameter;   // its number in the list
  int64_t begin;      // the first element, in the order in which the parameter lies in memory
  at::Tensor values;  // the elements themselves, not a copy; .grad() is where finish() puts their gradient
};

// Hears which parts have their sums: at least one number in GradientReducer::parts().
using PartsSummed = std::function<void(const std::vector<size_t>&)>;

// For each optimizer step, in this order:
//   zero_gradients();
//   for each micro-batch: prepare(it is the last one); forward; backward;
//   finish();
//   an optimizer over the values of parts(), of each as soon as finish() tells of it or of all after it;
//   share_update();
// Every element of every parameter is a part of all ranks, or of just one: where summing is cheap to divide,
// each rank sums and updates its own shard, and all read the result (Xu et al. 2020, Automatic Cross-Replica
// Sharding of Weight Update in Data-Parallel Training, arXiv:2004.13336).
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  // What this rank updates; stays the same.
  virtual const std::vector<ParameterPart>& parts() const = 0;
  // Whether each element is a part of just one rank; otherwise of all. The same on all ranks.
  virtual bool is_divided() const = 0;
  // Forgets every gradient.
  virtual void zero_gradients() = 0;
  // Before the forward pass of a micro-batch. Only the backward pass of the last one communicates.
  virtual void prepare(bool last) = 0;
  // After the last backward pass: waits until the gradient of every part of this rank is the sum over all
  // ranks and micro-batches. Tells `summed`, unless it is empty, of every part once, of some while the sums
  // of others are on their way. Throws Error(kPeerLost) when a peer is gone.
  virtual void finish(const PartsSummed& summed) = 0;
  // After the update: all parameters of this rank are up to date. Throws like finish().
  virtual void share_update() = 0;
};

// Where the parameters live.
enum class Placement {
  kCopies,  // each rank has its own
  kShared,  // one copy for all ranks of the host
};

}  // namespace dtrain
