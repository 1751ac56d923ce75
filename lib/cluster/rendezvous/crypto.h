// Cryptography for authentication and for identifying files: SHA-256 from OpenSSL, and random numbers.
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

// How two ends of a new connection prove to each other that they know the job token, without showing it:
//
//   leader -> member: kGreeting, 32 random bytes L
//   member -> leader: 32 random bytes M, HMAC-SHA256(token, "member" L M)
//   leader -> member: HMAC-SHA256(token, "leader" M L); zeros when the member's answer was wrong
inline const std::string kGreeting = "dtrain1\n";
inline const size_t kChallengeBytes = kGreeting.size() + kSha256Bytes;
constexpr size_t kAnswerBytes = 2 * kSha256Bytes;

inline std::string member_proof(const std::string& token, const std::string& leader_nonce,
                                const std::string& member_nonce) {
  return hmac_sha256(token, "member" + leader_nonce + member_nonce);
}

inline std::string leader_proof(const std::string& token, const std::string& leader_nonce,
                                const std::string& member_nonce) {
  return hmac_sha256(token, "leader" + member_nonce + leader_nonce);
}

}  // namespace dtrain
