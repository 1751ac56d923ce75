#include "kernels/instructions.h"

#include <atomic>

namespace dtrain {
namespace {

Instructions widest() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Instructions::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Instructions::kAvx2;
  return Instructions::kPortable;
}

std::atomic<Instructions>& in_use() {
  static std::atomic<Instructions> instructions = widest();
  return instructions;
}

}  // namespace

Instructions instructions() { return in_use().load(std::memory_order_relaxed); }

void only_use(std::optional<Instructions> chosen) { in_use() = chosen.value_or(widest()); }

std::string to_string(Instructions instructions) {
  switch (instructions) {
    case Instructions::kAvx512:
      return "AVX-512";
    case Instructions::kAvx2:
      return "AVX2";
    case Instructions::kPortable:
      break;
  }
  return "portable";
}

}  // namespace dtrain
