#include "launch/identity.h"

#include <sys/stat.h>

#include <fstream>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "processes/launch_helpers.h"

namespace dtrain {
namespace {

const std::string kSecret = "a secret of some length";

std::string token_or_refusal(const Variables& variables) {
  const LauncherEnvironment environment(variables);
  try {
    return job_token();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(std::string(error.what()).find(kSecret.substr(0, 8)) == std::string::npos);
    return std::string("refused: ") + error.what();
  }
}

TEST_CASE("the token comes from the environment or from a file of our own") {
  const TemporaryFolder folder;
  const std::string file = folder / "token";
  std::ofstream(file) << "  " << kSecret << "\n";
  ::chmod(file.c_str(), 0600);
  CHECK(token_or_refusal({}).empty());
  CHECK(token_or_refusal({{"DTRAIN_JOB_TOKEN", kSecret}}) == kSecret);
  CHECK(token_or_refusal({{"DTRAIN_JOB_TOKEN_FILE", file}}) == kSecret);
  CHECK_THAT(token_or_refusal({{"DTRAIN_JOB_TOKEN", kSecret}, {"DTRAIN_JOB_TOKEN_FILE", file}}),
             ContainsSubstring("unset one"));
  CHECK_THAT(token_or_refusal({{"DTRAIN_JOB_TOKEN", "a secret"}}), ContainsSubstring("8 characters"));
  CHECK_THAT(token_or_refusal({{"DTRAIN_JOB_TOKEN", ""}}), ContainsSubstring("0 characters"));
  CHECK_THAT(token_or_refusal({{"DTRAIN_JOB_TOKEN_FILE", folder / "none"}}), ContainsSubstring("none"));
}

TEST_CASE("a token's file that others can read or change is refused") {
  const TemporaryFolder folder;
  const std::string file = folder / "token";
  std::ofstream(file) << kSecret;
  for (const mode_t mode : {0640, 0604, 0620, 0666}) {
    ::chmod(file.c_str(), mode);
    CHECK_THAT(token_or_refusal({{"DTRAIN_JOB_TOKEN_FILE", file}}), ContainsSubstring("chmod 600"));
  }
}

}  // namespace
}  // namespace dtrain
