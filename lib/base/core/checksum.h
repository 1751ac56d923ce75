// The checksum of checkpoints and of variables in memory: 128-bit XXH3 (xxHash 0.8). It detects accidental
// damage by disks, memory and copying, at the speed of memory, and does not protect against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace dtrain {

constexpr size_t kChecksumDigits = 32;

// Computes the checksum of bytes that are added piece by piece.
class Checksum {
 public:
  Checksum();
  Checksum(const void* bytes, size_t count) : Checksum() { add(bytes, count); }
  void add(const void* bytes, size_t count);
  // The checksum of all bytes added so far, as 32 hexadecimal digits in the canonical order of `xxhsum -H2`.
  std::string text() const;
  // The lower 64 bits of the checksum.
  uint64_t number() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string checksum_of(const std::string& bytes);

// 64 bits, the XXH3 of `xxhsum -H3`: quicker for few bytes.
uint64_t checksum_number(const void* bytes, size_t count);

}  // namespace dtrain
