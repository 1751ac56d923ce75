// The checksum of checkpoints, and of variables in memory: 128-bit XXH3 (xxHash 0.8). It finds what disks,
// memory and copying do to bytes, at the speed of memory; it is no protection against somebody who means to
// forge one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace dtrain {

constexpr size_t kChecksumDigits = 32;

// Adds up bytes that come in pieces.
class Checksum {
 public:
  Checksum();
  void add(const void* bytes, size_t count);
  // Of all bytes so far, as 32 hexadecimal digits in the canonical order of xxhsum -H2.
  std::string text() const;
  // The lower 64 bits of it.
  uint64_t number() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string checksum_of(const std::string& bytes);

}  // namespace dtrain
