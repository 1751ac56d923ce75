// Memory in whole cache lines.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtrain {

inline constexpr size_t kCacheLine = 64;  // bytes
inline constexpr int64_t kCacheLineFloats = kCacheLine / sizeof(float);

// As many bytes, or more, as fill whole lines: what follows them begins a line too.
constexpr size_t whole_lines(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

// The same for numbers of four bytes.
constexpr int64_t whole_lines_of_floats(int64_t numbers) {
  return (numbers + kCacheLineFloats - 1) / kCacheLineFloats * kCacheLineFloats;
}

}  // namespace dtrain
