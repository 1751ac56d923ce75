#include "comm/replica_tree.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

Range first_half(Range node) {
  const auto below = std::bit_floor(static_cast<uint64_t>(node.size() - 1));
  return {node.begin, node.begin + static_cast<int64_t>(below)};
}

Range second_half(Range node) { return {first_half(node).end, node.end}; }

void add_largest(Range node, Range own, std::vector<Range>& nodes) {
  if (node.end <= own.begin || own.end <= node.begin) return;
  if (own.begin <= node.begin && node.end <= own.end) return nodes.push_back(node);
  add_largest(first_half(node), own, nodes);
  add_largest(second_half(node), own, nodes);
}

constexpr size_t kSummedAtOnce = 1024;  // elements; the sums of a block stay in the first-level cache

template <typename T>
class TreeSum {
 public:
  TreeSum(Range root, const std::vector<NodeSum>& inputs) : root_(root), inputs_(inputs) {
    const size_t levels = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(root.size())));
    scratch_ = std::make_unique_for_overwrite<T[]>((levels + 1) * kSummedAtOnce);
  }

  void write(std::byte* output, size_t count) {
    T* const out = reinterpret_cast<T*>(output);
    for (size_t begin = 0; begin < count; begin += kSummedAtOnce) {
      begin_ = begin;
      length_ = std::min(kSummedAtOnce, count - begin);
      next_ = 0;
      std::copy_n(sum(root_, scratch_.get()), length_, out + begin);
    }
  }

 private:
  // The block of this node's sum: in its input, or made in `scratch`.
  const T* sum(Range node, T* scratch) {
    const NodeSum& input = inputs_[next_];
    if (input.node == node) {
      ++next_;
      return reinterpret_cast<const T*>(input.numbers) + begin_;
    }
    const T* const first = sum(first_half(node), scratch);
    const T* const second = sum(second_half(node), scratch + kSummedAtOnce);
    for (size_t i = 0; i < length_; ++i) scratch[i] = first[i] + second[i];
    return scratch;
  }

  Range root_;
  const std::vector<NodeSum>& inputs_;
  std::unique_ptr<T[]> scratch_;
  size_t begin_ = 0, length_ = 0, next_ = 0;
};

template <typename T>
void add_typed(std::byte* to, const std::byte* from, size_t bytes) {
  T* const sums = reinterpret_cast<T*>(to);
  const T* const added = reinterpret_cast<const T*>(from);
  run_ranges(static_cast<int64_t>(bytes / sizeof(T)), kNumbersATask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sums[i] += added[i];
  });
}

}  // namespace

std::vector<Range> largest_nodes(Range own, int64_t count) {
  std::vector<Range> nodes;
  if (own.size() > 0) add_largest({0, count}, own, nodes);
  return nodes;
}

void sum_nodes(at::ScalarType type, Range root, const std::vector<NodeSum>& inputs, std::byte* output,
               size_t count) {
  if (inputs.front().node == root && inputs.front().numbers == output) return;
  if (type == at::kFloat) return TreeSum<float>(root, inputs).write(output, count);
  if (type == at::kDouble) return TreeSum<double>(root, inputs).write(output, count);
  throw Error(ExitCode::kBug, std::string("virtual replicas are not summed in ") + c10::toString(type));
}

void add_numbers(at::ScalarType type, std::byte* to, const std::byte* from, size_t bytes) {
  type == at::kDouble ? add_typed<double>(to, from, bytes) : add_typed<float>(to, from, bytes);
}

void copy_numbers(std::byte* to, const std::byte* from, size_t bytes) {
  run_ranges(static_cast<int64_t>(bytes), kNumbersATask * 4, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
  });
}

at::Tensor sum_of_rows(const at::Tensor& rows) {
  const at::Tensor sum = at::empty(rows.sizes().slice(1), rows.options());
  std::vector<NodeSum> leaves;
  const auto* row = static_cast<const std::byte*>(rows.const_data_ptr());
  for (int64_t i = 0; i < rows.size(0); ++i, row += static_cast<size_t>(rows.stride(0)) * rows.element_size())
    leaves.push_back({{i, i + 1}, row});
  sum_nodes(rows.scalar_type(), {0, rows.size(0)}, leaves, static_cast<std::byte*>(sum.mutable_data_ptr()),
            static_cast<size_t>(sum.numel()));
  return sum;
}

ReplicaAdder::ReplicaAdder(const VirtualReplicas& replicas)
    : nodes_(largest_nodes(replicas.own, replicas.count)), places_(nodes_.size()) {
  for (size_t i = 0; i < nodes_.size(); ++i) add(nodes_[i], i);
}

// The sum of the first half grows in the node's place, that of the second half in another one. A single
// virtual replica needs no other place: it is added at once.
void ReplicaAdder::add(Range node, size_t place) {
  if (node.size() == 1) return steps_.push_back({.place = place});
  add(first_half(node), place);
  const Range second = second_half(node);
  if (second.size() == 1) return steps_.push_back({.place = place, .adds = true});
  // One for each size, rounded to a power of two: the halves within it are smaller.
  const size_t free =
      nodes_.size() + static_cast<size_t>(std::bit_width(static_cast<uint64_t>(second.size()))) - 2;
  places_ = std::max(places_, free + 1);
  add(second, free);
  steps_.back().then.push_back({.to = place, .from = free});
}

}  // namespace dtrain
