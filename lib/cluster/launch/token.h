// The job token: the secret by which members of a job recognise each other.
#pragma once

#include <string>

namespace dtrain {

constexpr size_t kShortestToken = 16;  // characters; someone who records a handshake can try guesses offline
constexpr size_t kLongestToken = 4096;

// The job token: DTRAIN_JOB_TOKEN, or the content of the file named by DTRAIN_JOB_TOKEN_FILE, without
// surrounding blanks. Empty if neither is set. The file must be ours, and nobody else may read it. Throws
// Error(kUsage) if both are set, the token is too short or too long, or the file is accessible to others; the
// message never contains the token.
std::string job_token();

// The variables to remove from the environment of processes that do not need the token.
inline constexpr const char* kTokenVariables[] = {"DTRAIN_JOB_TOKEN", "DTRAIN_JOB_TOKEN_FILE"};

}  // namespace dtrain
