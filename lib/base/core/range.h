// Consecutive numbers, and how they are divided.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace dtrain {

// The numbers from `begin` to before `end`: examples, ranks, parts of a batch.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// begin, begin + 1, ... to before `end`.
template <class Number>
std::vector<Number> consecutive(Number begin, Number end) {
  std::vector<Number> numbers(static_cast<size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

// The consecutive share of `whole` for `index` of `count`. Shares differ in size by at most one; some are
// empty if there are more of them than numbers. Together they are exactly `whole`.
inline Range share_of(Range whole, int64_t index, int64_t count) {
  // Quotient and remainder, and not size * index / count, which could overflow.
  const int64_t quotient = whole.size() / count;
  const int64_t remainder = whole.size() % count;
  const int64_t begin = whole.begin + quotient * index + std::min(index, remainder);
  return {begin, begin + quotient + (index < remainder ? 1 : 0)};
}

}  // namespace dtrain
