// One source of a loop, compiled for several kinds of x86 processors and chosen while the program runs.
#pragma once

#include <optional>
#include <string>

namespace dtrain {

// Vectors of 4, 8 and 16 numbers.
enum class Instructions { kPortable, kAvx2, kAvx512 };

// The widest vectors that this processor has, or those that the environment variable DTRAIN_INSTRUCTIONS
// names (portable, avx2, avx512), or what only_use() has set. Throws an Error(kUsage) for an unknown name,
// and for vectors that the processor lacks.
Instructions instructions();
// For tests: every kernel runs with `chosen`, which the processor must have; nullopt: as without a call.
void only_use(std::optional<Instructions> chosen);
// "portable", "AVX2", "AVX-512".
std::string to_string(Instructions instructions);

#if defined(__x86_64__)
#ifdef __clang__  // which would ignore the whole list for the word that it does not know
#define DTRAIN_PREFERRED_WIDTH ""
#else
#define DTRAIN_PREFERRED_WIDTH ",prefer-vector-width=512"
#endif

// Kernel::run() is inlined into each of these, and so compiled for their instructions. It must be a static
// function that is always inlined, and may call only functions that are always inlined.
template <class Kernel, class... Arguments>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma" DTRAIN_PREFERRED_WIDTH)]] void run_with_avx512(
    Arguments... arguments) {
  Kernel::run(arguments...);
}
#undef DTRAIN_PREFERRED_WIDTH
template <class Kernel, class... Arguments>
[[gnu::target("avx2,fma")]] void run_with_avx2(Arguments... arguments) {
  Kernel::run(arguments...);
}
#endif

// One kernel for each kind of instructions, if their sources have to differ too.
template <class Avx512, class Avx2, class Portable, class... Arguments>
void run_kernel_of(Arguments... arguments) {
#if defined(__x86_64__)
  const Instructions widest = instructions();
  if (widest == Instructions::kAvx512) return run_with_avx512<Avx512>(arguments...);
  if (widest == Instructions::kAvx2) return run_with_avx2<Avx2>(arguments...);
#endif
  Portable::run(arguments...);
}

template <class Kernel, class... Arguments>
void run_kernel(Arguments... arguments) {
  run_kernel_of<Kernel, Kernel, Kernel>(arguments...);
}

}  // namespace dtrain
