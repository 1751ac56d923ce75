// Which bytes of a buffer belong to which rank.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/cache_lines.h"

namespace dtrain {

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

// The intersection of two slices; empty (begin = end) if they have nothing in common.
inline Slice common(Slice a, Slice b) {
  const size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace dtrain
