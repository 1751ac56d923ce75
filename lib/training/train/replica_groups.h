// Which replicas of a run train together, and the groups that they form.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/process_group.h"
#include "device/accelerator.h"
#include "train/replica.h"

namespace dtrain {

// Where this process stands among the hosts, and where its sockets are bound.
GroupNetwork network_of(const Identity& identity);

// The replicas of one synchronous run. They can form a group again: each group belongs to a generation, whose
// keys at the store no other generation reads. Each process counts generations from 1, so every attempt of a
// run needs a store of its own, as its supervisor or rank 0 serves it.
class ReplicaGroups {
 public:
  // `accelerator`: what this replica computes on; null: the CPU. `context` outlives the groups.
  ReplicaGroups(const ReplicaContext& context, std::shared_ptr<Accelerator> accelerator);

  // The group of the next generation. Collective: all replicas call it equally often. Throws Error(kPeerLost)
  // if one does not come in time.
  std::unique_ptr<ProcessGroup> make_group();

  int64_t generation() const { return generation_; }  // of the last group; 0: there was none yet
  int64_t size() const { return context_.run.training_processes(); }

 private:
  const ReplicaContext& context_;
  std::shared_ptr<Accelerator> accelerator_;
  int64_t generation_ = 0;
};

}  // namespace dtrain
