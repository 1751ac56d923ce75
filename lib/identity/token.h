// The secret that tells members of a job from strangers.
#pragma once

#include <string>

namespace dtrain {

constexpr size_t kShortestToken = 16;  // characters: whoever watches a handshake can try guesses at leisure
constexpr size_t kLongestToken = 4096;

// DTRAIN_JOB_TOKEN, or what the file named by DTRAIN_JOB_TOKEN_FILE holds (without blanks around it), which
// must be ours and nobody else's to read; empty when neither is set. Throws Error(kUsage), which never shows
// the token, when both are set, it is too short or long, or the file is open to others.
std::string job_token();

// What a process that has no business with the token should not have in its environment.
inline constexpr const char* kTokenVariables[] = {"DTRAIN_JOB_TOKEN", "DTRAIN_JOB_TOKEN_FILE"};

}  // namespace dtrain
