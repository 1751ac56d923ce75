// What tells members of a job from strangers, and files from one another: OpenSSL's SHA-256, and random
// numbers.
#pragma once

#include <cstddef>
#include <string>

namespace dtrain {

constexpr size_t kSha256Bytes = 32;

// FIPS 180-4; 32 raw bytes. Throws Error(kUsage) where OpenSSL's configuration leaves no SHA-256 to use.
std::string sha256(const std::string& message);

// RFC 2104 over SHA-256; 32 raw bytes. Throws as sha256 does.
std::string hmac_sha256(const std::string& key, const std::string& message);

// Whether two texts are the same, in a time that does not tell where they differ.
bool same_secret(const std::string& a, const std::string& b);

// From the kernel. Throws Error(kBug) when it has none.
std::string random_bytes(size_t count);

// Two digits a byte: "0a1f..."
std::string hexadecimal(const std::string& bytes);

}  // namespace dtrain
