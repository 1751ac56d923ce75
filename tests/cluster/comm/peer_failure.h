// How what is done to a lost peer fails.
#pragma once

#include <functional>
#include <string>

#include "core/error.h"

namespace dtrain {

// The message of the Error(kPeerLost) that `body` throws; "none" when it throws nothing. Of any thread.
inline std::string peer_failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code() == ExitCode::kPeerLost ? error.what() : std::string("not of a peer: ") + error.what();
  }
  return "none";
}

}  // namespace dtrain
