// What libFuzzer calls (https://llvm.org/docs/LibFuzzer.html). DTRAIN_FUZZ names the reader; scripts/fuzz
// sets it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "fuzz/readers.h"

namespace {

const dtrain::FuzzedReader& chosen_reader() {
  const char* name = std::getenv("DTRAIN_FUZZ");
  try {
    return dtrain::fuzzed_reader(name ? name : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "DTRAIN_FUZZ: %s\n", error.what());
    std::exit(2);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dtrain::FuzzedReader& reader = chosen_reader();
  reader.read(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
