// Finds variables that are not what updates made them: a bit of some replica's memory has flipped.
#pragma once

#include <optional>
#include <string>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "models/model.h"
#include "step/watched_optimizer.h"

namespace dtrain {

// Ends the message of each Error(kDisagree).
extern const char* const kAfterCorruption;

// Why what has grown so is suspicious; empty when it is plausible. `whose`: "the largest weight".
std::string suspicion_of(const Growth& growth, const std::string& whose);

// Of replicas that work together. Where each updates all of its copy, copies are compared, all bits of them:
// whatever has changed in one of them since the beginning stays different. Where each element is updated by
// one replica, hence the same for all, that one seals it until the next step (WatchedOptimizer). Growth is
// checked everywhere.
//
// Copies are not compared where replicas compute with other processors or numbers of threads: the
// same update then differs in its last bits.
class Sentinel {
 public:
  // All of it outlives the sentinel; `optimizer` is of the values of the reducer's parts. `every`: after how
  // many steps a check is to be expected, so that what is sealed is sealed right after the update of that
  // step.
  Sentinel(const Model& model, ProcessGroup& group, const GradientReducer& reducer,
           WatchedOptimizer& optimizer, std::optional<int64_t> every = std::nullopt);

  // Between two steps. Collective. Throws Error(kDisagree) on every replica, with the same message. Returns
  // what the user should be warned of, the same on every replica; empty: nothing (new).
  std::string check();
  // After every step; collective in the first one after a check. Throws like check().
  void after_step();
  // Why what the last check saw may be corrupt; empty: it is plausible.
  const std::string& suspicion() const { return suspicion_; }

 private:
  struct Finding;
  // Those of all ranks, each with its broken seal and its host.
  std::vector<Finding> exchange(Finding own);
  void require_unbroken(const std::vector<Finding>& findings) const;
  void require_equal(const std::vector<Finding>& findings) const;
  bool compares_copies() const { return group_.size() > 1 && !reducer_.is_divided(); }

  const Model& model_;
  ProcessGroup& group_;
  const GradientReducer& reducer_;
  WatchedOptimizer& optimizer_;
  uint64_t arithmetic_;  // of this replica
  std::string host_;
  std::string suspicion_;
  bool told_ = false;  // that copies are not compared
};

}  // namespace dtrain
