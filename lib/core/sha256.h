// SHA-256 and what is built on it, for telling members of a job from strangers.
#pragma once

#include <cstddef>
#include <string>

namespace dtrain {

constexpr size_t kSha256Bytes = 32;

// FIPS 180-4; 32 raw bytes.
std::string sha256(const std::string& message);

// RFC 2104 over SHA-256; 32 raw bytes.
std::string hmac_sha256(const std::string& key, const std::string& message);

// Whether two texts are the same, in a time that does not tell where they differ.
bool same_secret(const std::string& a, const std::string& b);

// From the kernel. Throws Error(kBug) when it has none.
std::string random_bytes(size_t count);

}  // namespace dtrain
