#include "shared_memory/slice_sum.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <type_traits>

#include "core/error.h"
#include "core/range.h"

namespace dtrain {
namespace {

constexpr size_t kBlock = 1024;  // elements; the running sum of a block stays in the first-level cache

template <typename T>
using SumOf = std::conditional_t<std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>, float, T>;

// Two inputs and at most two outputs is the commonest case. One pass hides the time to fetch cache lines that
// another core wrote, which saves a third of the time. An output may be an input, so the compiler makes
// vectors only of a few sums in a memory of their own.
template <typename T>
void sum_two(const T* first, const T* second, T* out, T* copy, size_t count) {
  constexpr size_t kAtOnce = 64;
  size_t begin = 0;
  for (; begin + kAtOnce <= count; begin += kAtOnce) {
    T sums[kAtOnce];
    for (size_t i = 0; i < kAtOnce; ++i)
      sums[i] =
          static_cast<T>(static_cast<SumOf<T>>(first[begin + i]) + static_cast<SumOf<T>>(second[begin + i]));
    std::copy_n(sums, kAtOnce, out + begin);
    if (copy != out) std::copy_n(sums, kAtOnce, copy + begin);
  }
  for (; begin < count; ++begin) {
    out[begin] = static_cast<T>(static_cast<SumOf<T>>(first[begin]) + static_cast<SumOf<T>>(second[begin]));
    copy[begin] = out[begin];
  }
}

template <typename T>
void sum_many(const std::vector<const std::byte*>& inputs, const std::vector<std::byte*>& outputs,
              size_t count) {
  SumOf<T> sum[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t length = std::min(kBlock, count - begin);
    const T* first = reinterpret_cast<const T*>(inputs[0]) + begin;
    for (size_t i = 0; i < length; ++i) sum[i] = static_cast<SumOf<T>>(first[i]);
    for (size_t input = 1; input < inputs.size(); ++input) {
      const T* next = reinterpret_cast<const T*>(inputs[input]) + begin;
      for (size_t i = 0; i < length; ++i)
        sum[i] = static_cast<SumOf<T>>(sum[i] + static_cast<SumOf<T>>(next[i]));
    }
    for (std::byte* const output : outputs) {
      T* result = reinterpret_cast<T*>(output) + begin;
      for (size_t i = 0; i < length; ++i) result[i] = static_cast<T>(sum[i]);
    }
  }
}

template <typename T>
void sum_typed(const std::vector<const std::byte*>& inputs, const std::vector<std::byte*>& outputs,
               size_t count) {
  if (inputs.size() != 2 || outputs.size() > 2) return sum_many<T>(inputs, outputs, count);
  sum_two(reinterpret_cast<const T*>(inputs[0]), reinterpret_cast<const T*>(inputs[1]),
          reinterpret_cast<T*>(outputs.front()), reinterpret_cast<T*>(outputs.back()), count);
}

}  // namespace

void sum_arrays(at::ScalarType type, const std::vector<const std::byte*>& inputs,
                const std::vector<std::byte*>& outputs, size_t count) {
  switch (type) {
    case at::kFloat:
      return sum_typed<float>(inputs, outputs, count);
    case at::kDouble:
      return sum_typed<double>(inputs, outputs, count);
    case at::kBFloat16:
      return sum_typed<c10::BFloat16>(inputs, outputs, count);
    case at::kHalf:
      return sum_typed<c10::Half>(inputs, outputs, count);
    case at::kLong:
      return sum_typed<int64_t>(inputs, outputs, count);
    case at::kInt:
      return sum_typed<int32_t>(inputs, outputs, count);
    case at::kByte:
      return sum_typed<uint8_t>(inputs, outputs, count);
    default:
      throw Error(ExitCode::kBug, std::string("shared memory does not sum ") + c10::toString(type));
  }
}

std::vector<int> owners_of(const std::vector<size_t>& sizes, int ranks) {
  std::vector<size_t> order = consecutive(size_t{0}, sizes.size()), loads(static_cast<size_t>(ranks));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<int> owners(sizes.size());
  for (const size_t buffer : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += sizes[buffer];
    owners[buffer] = static_cast<int>(least - loads.begin());
  }
  return owners;
}

}  // namespace dtrain
