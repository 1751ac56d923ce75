// Turns an exception into an exit code and a message for the user.
#pragma once

#include <string>

#include "core/error.h"

namespace dtrain {

struct Failure {
  ExitCode code = ExitCode::kBug;
  std::string message;
};

// Describes the exception that is being handled; call it inside a catch block. Running out of memory becomes
// kMemory with advice, what the file system refuses kDisk or kUsage. Any other exception that is not an Error
// becomes a kBug with the exception's own text.
Failure describe_current_exception();

}  // namespace dtrain
