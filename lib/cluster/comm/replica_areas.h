// Where the virtual replicas of a host's ranks are added up (comm/replica_tree.h).
#pragma once

#include <cstdint>
#include <vector>

#include "comm/process_group.h"
#include "comm/replica_tree.h"

namespace dtrain {

// The areas in shared memory in which virtual replicas are added up: which rank has which, and their sums.
class ReplicaAreas {
 public:
  // Of rank `rank` among the `ranks` of its host.
  ReplicaAreas(const ReducerOptions& options, int rank, int ranks)
      : count_(options.virtual_replicas),
        hosts_(options.hosts),
        ranks_(ranks),
        adder_(VirtualReplicas{count_, replicas_of(hosts_.index * ranks_ + rank)}) {
    for (int rank = 0; rank < ranks_; ++rank) {
      first_.push_back(inputs_.size());
      for (const Range node : largest_nodes(replicas_of(hosts_.index * ranks_ + rank), count_))
        inputs_.push_back(node);
    }
  }

  // The nodes of the tree that the ranks of this host have, in order: each is an area.
  const std::vector<Range>& inputs() const { return inputs_; }
  // The area of the first of a rank's nodes.
  size_t first_of(int rank) const { return first_[static_cast<size_t>(rank)]; }
  // The nodes into which host `host` adds up its virtual replicas.
  std::vector<Range> roots_of(int host) const { return largest_nodes(replicas_on(host), count_); }
  const ReducerHosts& hosts() const { return hosts_; }
  // The virtual replicas of host `host`.
  Range replicas_on(int host) const {
    return {replicas_of(host * ranks_).begin, replicas_of((host + 1) * ranks_ - 1).end};
  }
  Range whole() const { return {0, count_}; }
  const ReplicaAdder& adder() const { return adder_; }

 private:
  Range replicas_of(int rank) const { return share_of({0, count_}, rank, hosts_.count * ranks_); }

  int64_t count_;
  ReducerHosts hosts_;
  int ranks_;  // of a host
  ReplicaAdder adder_;
  std::vector<Range> inputs_;
  std::vector<size_t> first_;
};

}  // namespace dtrain
