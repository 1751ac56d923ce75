// Hashes what some steps compute (runs/receipts.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/replica_tree.h"
#include "loader/batches.h"
#include "metrics/event.h"
#include "models/variables.h"
#include "step/train_step.h"

namespace dtrain {

// What a step computes with. `parameters`: those of the reducer, by name.
struct ReceiptParts {
  Variables parameters;
  const GradientReducer& reducer;
  ProcessGroup& group;
  VirtualReplicas replicas;
};

// A hash does not depend on which rank has what, because it is the sum of the hashes of pieces. With
// strategy.virtual_replicas the pieces do not depend on the number of ranks either.
class Receipts {
 public:
  // For each step that is a multiple of `every`, and for step `last`. `take` gets the receipts, on rank 0.
  Receipts(int64_t every, int64_t last, std::function<void(const Event&)> take)
      : every_(every), last_(last), take_(std::move(take)) {}

  bool are_due(int64_t step) const { return step % every_ == 0 || step == last_; }

  // Call before a step that is due; `parts` must live until end(). Call the returned function when the
  // reducer's parts have the combined gradient.
  GradientLook begin(int64_t step, const Share& share, ReceiptParts parts);
  // Call when the parameters have the gradient of this rank's replica `number`. Does nothing in other steps.
  void add_replica(size_t number);
  // Call after that step. Collective.
  void end();

 private:
  // The places in sums_ of the first replica, of the first parameter's gradient, and of its weights. The sum
  // of the examples is at place 0.
  size_t replica() const { return 1; }
  size_t gradient() const { return replica() + static_cast<size_t>(parts_->replicas.count); }
  size_t weights() const { return gradient() + parts_->parameters.size(); }
  // Adds the hash of this rank's part of something, unless another rank has the same part and counts it.
  void add(size_t first, const ParameterPart& part, const at::Tensor& values);
  Event receipt() const;

  int64_t every_, last_;
  std::function<void(const Event&)> take_;
  int64_t step_ = 0;
  std::optional<ReceiptParts> parts_;  // nullopt: no step is under way
  std::vector<uint64_t> sums_;         // of this rank's pieces
};

}  // namespace dtrain
