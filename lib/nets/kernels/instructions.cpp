#include "kernels/instructions.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

Instructions widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Instructions::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Instructions::kAvx2;
#endif
  return Instructions::kPortable;
}

constexpr const char* kVariable = "DTRAIN_INSTRUCTIONS";
constexpr std::array<std::pair<std::string_view, Instructions>, 3> kNames = {
    {{"portable", Instructions::kPortable},
     {"avx2", Instructions::kAvx2},
     {"avx512", Instructions::kAvx512}}};

// The widest, or what the environment asks for.
Instructions by_default() {
  const char* const text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0') return widest();
  for (const auto& [name, each] : kNames) {
    if (name != text) continue;
    if (each <= widest()) return each;
    throw Error(ExitCode::kUsage,
                fmt::format("the environment has {}={}, which this processor lacks; its widest are {}",
                            kVariable, name, kNames.at(static_cast<size_t>(widest())).first));
  }
  throw Error(ExitCode::kUsage,
              fmt::format("the environment has {}={}; it can be portable, avx2 or avx512, or unset for the "
                          "widest that the processor has",
                          kVariable, printable(text, 80)));
}

std::atomic<Instructions>& in_use() {
  static std::atomic<Instructions> instructions = by_default();
  return instructions;
}

}  // namespace

Instructions instructions() { return in_use().load(std::memory_order_relaxed); }

void only_use(std::optional<Instructions> chosen) { in_use() = chosen ? *chosen : by_default(); }

std::string to_string(Instructions instructions) {
  return std::array{"portable", "AVX2", "AVX-512"}.at(static_cast<size_t>(instructions));
}

}  // namespace dtrain
