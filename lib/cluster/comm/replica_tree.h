// The fixed binary tree along which the numbers of virtual replicas are added up, so that a sum has the same
// bits whichever ranks compute which of them.
//
// A node is a range of virtual replicas. Its sum is that of its first 2^k, the largest power of two below
// their number, plus that of the rest; each of the two is a node again.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "core/range.h"

namespace dtrain {

// The parts into which a global batch is cut (strategy.virtual_replicas), and those that this rank computes,
// one after the other. Without the field each rank is one of them.
struct VirtualReplicas {
  int64_t count = 1;
  Range own = {0, 1};
};

// The fewest nodes of the tree over `count` virtual replicas that make up `own`, in order.
std::vector<Range> largest_nodes(Range own, int64_t count);

// The sum of a node: numbers in memory.
struct NodeSum {
  Range node;
  const std::byte* numbers;
};

// The sum of node `root` from the sums of nodes that make it up, in order; each element by itself. The output
// may be one of the inputs. `type`: float32 or float64; throws Error(kBug) for others.
void sum_nodes(at::ScalarType type, Range root, const std::vector<NodeSum>& inputs, std::byte* output,
               size_t count);

// Adds numbers of such a type to others, or copies numbers, on all threads of the rank.
void add_numbers(at::ScalarType type, std::byte* to, const std::byte* from, size_t bytes);
void copy_numbers(std::byte* to, const std::byte* from, size_t bytes);

// The sum of rows [virtual replicas, ...], each contiguous, along the tree over all of them: a new tensor.
at::Tensor sum_of_rows(const at::Tensor& rows);

// How one rank adds up its own virtual replicas in little memory: in a place for each of its largest nodes,
// and a few for sums that are not complete yet.
class ReplicaAdder {
 public:
  struct Addition {
    size_t to;
    size_t from;
  };
  // What becomes of the numbers of one virtual replica.
  struct Step {
    size_t place = 0;
    bool adds = false;                // to what is there; else they replace it
    std::vector<Addition> then = {};  // places to add to others, in this order
  };

  explicit ReplicaAdder(const VirtualReplicas& replicas);

  // The largest nodes over this rank's virtual replicas; their sums end in the first places.
  const std::vector<Range>& nodes() const { return nodes_; }
  size_t places() const { return places_; }
  // In the order of this rank's virtual replicas.
  const std::vector<Step>& steps() const { return steps_; }

 private:
  void add(Range node, size_t place);

  std::vector<Range> nodes_;
  size_t places_ = 0;
  std::vector<Step> steps_;
};

}  // namespace dtrain
