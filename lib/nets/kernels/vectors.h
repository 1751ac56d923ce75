// Vectors of numbers that fill registers, for kernels (kernels/instructions.h).
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace dtrain {

template <int kLanes>
struct VectorOf {
  using Type [[gnu::vector_size(kLanes * sizeof(float))]] = float;
};
template <int kLanes>
using Vector = typename VectorOf<kLanes>::Type;

template <class Numbers>
[[gnu::always_inline]] inline void load(Numbers& numbers, const float* from) {
  std::memcpy(&numbers, from, sizeof numbers);
}
template <class Numbers>
[[gnu::always_inline]] inline void store(const Numbers& numbers, float* to) {
  std::memcpy(to, &numbers, sizeof numbers);
}

// For two rows that are kStep apart: exchanges those lanes of the first whose number has the bit kStep with
// those lanes of the second whose number has it not.
template <int kStep, class Row, int... kLane>
[[gnu::always_inline]] inline void exchange(Row& first, Row& second, std::integer_sequence<int, kLane...>) {
  const Row upper = first, lower = second;
  constexpr int kSecond = sizeof...(kLane);  // the lanes of `lower` are numbered after those of `upper`
#if defined(__clang__) || __GNUC__ >= 12
  first = __builtin_shufflevector(upper, lower, ((kLane & kStep) != 0 ? kSecond + kLane - kStep : kLane)...);
  second = __builtin_shufflevector(upper, lower, ((kLane & kStep) != 0 ? kSecond + kLane : kLane + kStep)...);
#else
  using Lanes = decltype(upper < lower);
  first = __builtin_shuffle(upper, lower, Lanes{((kLane & kStep) != 0 ? kSecond + kLane - kStep : kLane)...});
  second =
      __builtin_shuffle(upper, lower, Lanes{((kLane & kStep) != 0 ? kSecond + kLane : kLane + kStep)...});
#endif
}

// Transposes a square of as many rows as each has lanes.
template <int kSide, int kStep = 1>
[[gnu::always_inline]] inline void transpose_square(Vector<kSide>* rows) {
  if constexpr (kStep < kSide) {
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) {
      if ((i & kStep) == 0)
        exchange<kStep>(rows[i], rows[i + kStep], std::make_integer_sequence<int, kSide>());
    }
    transpose_square<kSide, 2 * kStep>(rows);
  }
}

// The same from memory to memory.
template <int kSide>
[[gnu::always_inline]] inline void transpose_square(const float* from, int64_t from_stride, float* to,
                                                    int64_t to_stride) {
  Vector<kSide> rows[kSide];
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) load(rows[i], from + i * from_stride);
  transpose_square<kSide>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) store(rows[i], to + i * to_stride);
}

}  // namespace dtrain
