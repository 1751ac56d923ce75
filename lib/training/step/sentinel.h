// Finds variables that something other than an update has changed: a bit of some replica's memory has
// flipped.
#pragma once

#include <optional>
#include <string>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "models/model.h"
#include "step/watched_optimizer.h"

namespace dtrain {

// The end of the message of each Error(kDisagree).
extern const char* const kAfterCorruption;

// Why this growth is suspicious; empty if it is plausible. `whose` names the value in the sentence: "the
// largest weight".
std::string suspicion_of(const Growth& growth, const std::string& whose);

// Checks replicas that train in the same steps. If each replica updates its whole copy, all bits of the
// copies are compared: a change in one of them persists as a difference. If each element is updated by only
// one replica and is then the same for all, that replica seals it until the next step (WatchedOptimizer).
// Growth is checked in both cases.
//
// Copies are not compared if replicas compute on different processors, or with different instructions or
// numbers of threads: the same update then differs in its last bits.
class Sentinel {
 public:
  struct Finding;  // of one replica

  // All arguments must outlive the sentinel. The parameters of `optimizer` are the values of the reducer's
  // parts. `every`: the number of steps between checks, so that the update in the step of a check seals its
  // results at once. `alone`: the copies of the hosts differ (strategy.local_steps).
  Sentinel(const Model& model, ProcessGroup& group, const GradientReducer& reducer,
           WatchedOptimizer& optimizer, std::optional<int64_t> every = std::nullopt, bool alone = false);

  // Call between two steps. Collective. `others`: a checksum of whatever else is bit-identical on all
  // replicas. If memory is corrupt, throws Error(kDisagree) on every replica, with the same message. Returns
  // a warning for the user, the same on every replica; empty: nothing (new).
  std::string check(std::optional<uint64_t> others = std::nullopt);
  // The part of check() that needs no other replica. Returns why this one's variables may be corrupt.
  std::string check_own();
  // Call after every step; collective after the first step after a check. Throws like check().
  void after_step();
  // Why the variables may be corrupt according to the last check; empty: they are plausible.
  const std::string& suspicion() const { return suspicion_; }

 private:
  // The findings of all ranks, each with its broken seal and its host.
  std::vector<Finding> exchange(Finding own);
  void require_unbroken(const std::vector<Finding>& findings) const;
  void require_equal(const std::vector<Finding>& findings) const;
  bool compares_copies() const { return group_.size() > 1 && reducer_.shards() == 1 && !alone_; }

  const Model& model_;
  ProcessGroup& group_;
  const GradientReducer& reducer_;
  WatchedOptimizer& optimizer_;
  bool alone_;
  uint64_t arithmetic_;  // of this replica
  std::string host_;
  std::string suspicion_;
  bool told_ = false;  // the warning that copies are not compared was given
};

}  // namespace dtrain
