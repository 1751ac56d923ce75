// Which bytes of a buffer belong to which rank, and the element-wise sum of arrays.
#pragma once

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/cache_lines.h"

namespace dtrain {

// Computes output[i] = inputs[0][i] + inputs[1][i] + ... for every output, always in this order, so that the
// bits do not depend on which rank sums. Half precision is summed in float32 and rounded once. An output may
// be one of the inputs. Supports floating-point and integer types; throws Error(kBug) for others.
void sum_arrays(at::ScalarType type, const std::vector<const std::byte*>& inputs,
                const std::vector<std::byte*>& outputs, size_t count);

struct Slice {
  size_t begin;
  size_t end;
  size_t size() const { return end - begin; }
};

// The slice of `bytes` that belongs to `rank`. It is made of whole cache lines, so that no two ranks write to
// the same one. The last slices may be empty.
inline Slice slice_of(size_t bytes, int rank, int size) {
  const auto ranks = static_cast<size_t>(size);
  const size_t step = whole_lines((bytes + ranks - 1) / ranks);
  const size_t begin = std::min(bytes, step * static_cast<size_t>(rank));
  return {begin, std::min(bytes, begin + step)};
}

// For buffers of these sizes, none of which is cut, the rank of `ranks` that gets each: the largest buffer
// first, each to the rank that has the least so far.
std::vector<int> owners_of(const std::vector<size_t>& sizes, int ranks);

// The intersection of two slices; empty (begin = end) if they have nothing in common.
inline Slice common(Slice a, Slice b) {
  const size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace dtrain
