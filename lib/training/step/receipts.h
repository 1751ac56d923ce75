// Hashes what some steps compute (runs/receipts.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/process_group.h"
#include "comm/replica_tree.h"
#include "loader/batches.h"
#include "metrics/event.h"
#include "models/variables.h"

namespace dtrain {

// What a step computes with. `parameters`: those of the reducer, by name.
struct ReceiptParts {
  Variables parameters;
  const GradientReducer& reducer;
  ProcessGroup& group;
  VirtualReplicas replicas;
};

// A hash does not depend on which rank has what: it is the sum of those of pieces. With
// strategy.virtual_replicas the pieces do not depend on the number of ranks either.
class Receipts {
 public:
  // Of each step that is a multiple of `every`, and of step `last`. `take` gets them, on rank 0.
  Receipts(int64_t every, int64_t last, std::function<void(const Event&)> take)
      : every_(every), last_(last), take_(std::move(take)) {}

  bool are_due(int64_t step) const { return step % every_ == 0 || step == last_; }

  // Call before a step that is due, with what lives until end(); call what it returns when the reducer's
  // parts have the combined gradient (GradientLook).
  std::function<void(const GradientReducer&, ProcessGroup&)> begin(int64_t step, const Share& share,
                                                                   ReceiptParts parts);
  // Call when the parameters have the gradient of the replica with this number among the own ones. Does
  // nothing in other steps.
  void add_replica(size_t number);
  // Call after that step. Collective.
  void end();

 private:
  // Where the sums are of the first replica, of the gradient of the first parameter, and of its weights; that
  // of the examples is before them.
  size_t replica() const { return 1; }
  size_t gradient() const { return replica() + static_cast<size_t>(parts_->replicas.count); }
  size_t weights() const { return gradient() + parts_->parameters.size(); }
  // Adds the hash of this rank's part of something, unless others have it too and count it.
  void add(size_t first, const ParameterPart& part, const at::Tensor& values);
  Event receipt() const;

  int64_t every_, last_;
  std::function<void(const Event&)> take_;
  int64_t step_ = 0;
  std::optional<ReceiptParts> parts_;  // nullopt: no step is under way
  std::vector<uint64_t> sums_;         // of this rank's pieces
};

}  // namespace dtrain
