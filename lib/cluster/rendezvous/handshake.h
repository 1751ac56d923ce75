// How processes that meet prove to each other that they belong to one job.
#pragma once

#include <cstddef>
#include <string>

#include "crypto/crypto.h"

namespace dtrain {

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
