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
#include "models/model.h"
#include "models/variables.h"

namespace dtrain {

// What a step computes with. The reducer's parameters are the trained ones of the model.
struct ReceiptParts {
  const Model& model;
  const GradientReducer& reducer;
  ProcessGroup& group;
  const VirtualReplicas& replicas;
};

// A hash does not depend on which rank has what: it is the sum of those of pieces. With
// strategy.virtual_replicas the pieces do not depend on the number of ranks either.
class Receipts {
 public:
  // Of each step that is a multiple of `every`, and of step `last`. `take` gets them, on rank 0.
  Receipts(int64_t every, int64_t last, std::function<void(const Event&)> take)
      : every_(every), last_(last), take_(std::move(take)) {}

  bool are_due(int64_t step) const { return step % every_ == 0 || step == last_; }

  // Call before step `step`, for which one is due, and end() after it. Between the two, call the function
  // that is returned with the combined gradient (GradientLook). The parts must outlive that.
  std::function<void(const GradientReducer&, ProcessGroup&)> begin(int64_t step, const Share& share,
                                                                   const ReceiptParts& parts);
  // Call when the parameters have the gradient of a replica, the one with this number among the own ones.
  // Does nothing in other steps.
  void add_replica(size_t number);
  // Collective.
  void end();

 private:
  struct UnderWay {
    int64_t step;
    ReceiptParts parts;
    Variables parameters;
    // The sums of this rank's pieces: examples, replicas, then for each parameter its gradient and its
    // weights.
    std::vector<uint64_t> sums;

    uint64_t& replica(size_t number) { return sums[1 + number]; }
    uint64_t& gradient(size_t parameter) { return sums[1 + replicas() + parameter]; }
    uint64_t& weights(size_t parameter) { return gradient(parameters.size() + parameter); }
    size_t replicas() const { return static_cast<size_t>(parts.replicas.count); }
    bool counts_parts() const;
    Event receipt();
  };

  int64_t every_, last_;
  std::function<void(const Event&)> take_;
  std::optional<UnderWay> step_;
};

}  // namespace dtrain
