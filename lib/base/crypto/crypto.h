// Cryptography for authentication, signatures and identifying files: SHA-256 from OpenSSL, random numbers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace dtrain {

constexpr size_t kSha256Bytes = 32;

// SHA-256 (FIPS 180-4) as 32 raw bytes. Throws Error(kUsage) if OpenSSL's configuration disables SHA-256.
std::string sha256(const std::string& message);

// The same of a file's bytes. Throws also Error(kDisk, kUsage) if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);

// HMAC-SHA-256 (RFC 2104) as 32 raw bytes. Throws like sha256().
std::string hmac_sha256(const std::string& key, const std::string& message);

// Compares two texts in a time that does not depend on where they differ.
bool same_secret(const std::string& a, const std::string& b);

// Random bytes from the kernel. Throws Error(kBug) if it provides none.
std::string random_bytes(size_t count);

// Two digits per byte: "0a1f..."
std::string hexadecimal(const std::string& bytes);

// RFC 4648, section 4, and back. from_base64() throws Error(kBug) if it is not such text.
std::string base64(const std::string& bytes);
std::string from_base64(const std::string& text);

}  // namespace dtrain
