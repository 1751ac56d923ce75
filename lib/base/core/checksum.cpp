#include "core/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace dtrain {

void Checksum::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Checksum::Checksum() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void Checksum::add(const void* bytes, size_t count) { XXH3_128bits_update(state_.get(), bytes, count); }

std::string Checksum::text() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint64_t Checksum::number() const { return XXH3_128bits_digest(state_.get()).low64; }

uint64_t checksum_number(const void* bytes, size_t count) { return XXH3_64bits(bytes, count); }

std::string checksum_of(const std::string& bytes) { return Checksum(bytes.data(), bytes.size()).text(); }

}  // namespace dtrain
