#include "launch/token.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

std::string read_private_file(const std::string& path) {
  struct stat status {};
  const std::string name = printable(path, 200);
  if (::stat(path.c_str(), &status) == 0) {
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
      throw Error(ExitCode::kUsage, "the job token's file {} belongs to another user", name);
    if ((status.st_mode & 077) != 0)
      throw Error(ExitCode::kUsage, "the job token's file {} can be read or changed by others: chmod 600 {}",
                  name, name);
  }
  return read_file(path, kLongestToken, ExitCode::kUsage);
}

}  // namespace

std::string job_token() {
  // An empty one counts: whatever should have filled it has failed, and without a token anybody may join.
  const char* const text = std::getenv("DTRAIN_JOB_TOKEN");
  const auto file = environment_text("DTRAIN_JOB_TOKEN_FILE");
  if (text && file)
    throw Error(ExitCode::kUsage,
                "both DTRAIN_JOB_TOKEN and DTRAIN_JOB_TOKEN_FILE are set; unset one of them");
  if (!text && !file) return "";
  const char* const source = text ? "DTRAIN_JOB_TOKEN" : "the file of DTRAIN_JOB_TOKEN_FILE";
  const std::string token = trimmed(text ? text : read_private_file(*file));
  if (token.size() < kShortestToken || token.size() > kLongestToken)
    throw Error(ExitCode::kUsage,
                "{} holds a job token of {} characters, which is not {} to {}; make one with: head -c 32 "
                "/dev/urandom | base64",
                source, token.size(), kShortestToken, kLongestToken);
  return token;
}

}  // namespace dtrain
