#include "comm/slice_sum.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <type_traits>

#include "core/error.h"

namespace dtrain {
namespace {

constexpr size_t kBlock = 1024;  // elements whose running sum stays in the first-level cache

template <typename T>
void sum_typed(const std::vector<const std::byte*>& inputs, std::byte* out, size_t count) {
  constexpr bool kHalf = std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>;
  using Sum = std::conditional_t<kHalf, float, T>;
  auto* result = reinterpret_cast<T*>(out);
  Sum sum[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t length = std::min(kBlock, count - begin);
    const T* first = reinterpret_cast<const T*>(inputs[0]) + begin;
    for (size_t i = 0; i < length; ++i) sum[i] = static_cast<Sum>(first[i]);
    for (size_t input = 1; input < inputs.size(); ++input) {
      const T* next = reinterpret_cast<const T*>(inputs[input]) + begin;
      for (size_t i = 0; i < length; ++i) sum[i] = static_cast<Sum>(sum[i] + static_cast<Sum>(next[i]));
    }
    for (size_t i = 0; i < length; ++i) result[begin + i] = static_cast<T>(sum[i]);
  }
}

}  // namespace

void sum_arrays(at::ScalarType type, const std::vector<const std::byte*>& inputs, std::byte* out,
                size_t count) {
  switch (type) {
    case at::kFloat:
      return sum_typed<float>(inputs, out, count);
    case at::kDouble:
      return sum_typed<double>(inputs, out, count);
    case at::kBFloat16:
      return sum_typed<c10::BFloat16>(inputs, out, count);
    case at::kHalf:
      return sum_typed<c10::Half>(inputs, out, count);
    case at::kLong:
      return sum_typed<int64_t>(inputs, out, count);
    case at::kInt:
      return sum_typed<int32_t>(inputs, out, count);
    case at::kByte:
      return sum_typed<uint8_t>(inputs, out, count);
    default:
      throw Error(ExitCode::kBug, std::string("shared memory does not sum ") + c10::toString(type));
  }
}

}  // namespace dtrain
