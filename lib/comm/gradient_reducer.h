// How the gradients of replicas become one sum: a small part with one implementation per kind of group.
#pragma once

namespace dtrain {

// For each optimizer step, in this order:
//   zero_gradients();
//   for each micro-batch: prepare(it is the last one); forward; backward;
//   finish();
// after which every parameter's .grad() is the sum over all replicas and micro-batches.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  // Sets every gradient that exists to zero in place.
  virtual void zero_gradients() = 0;
  // Before the forward pass of a micro-batch. Only the backward pass of the last one communicates.
  virtual void prepare(bool last) = 0;
  // After the last backward pass. Throws Error(kPeerLost) when a peer is gone.
  virtual void finish() = 0;
};

}  // namespace dtrain
