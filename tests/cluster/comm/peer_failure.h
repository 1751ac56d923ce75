// How what is done to a lost peer fails.
#pragma once

#include <functional>
#include <string>

#include "catch.h"
#include "core/error.h"

namespace dtrain {

// The message of the Error(kPeerLost) that `body` throws; "none" when it throws nothing.
inline std::string peer_failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    return error.what();
  }
  return "none";
}

}  // namespace dtrain
