// Converts the exceptions of c10d and gloo into dtrain's errors.
#pragma once

#include <functional>
#include <string>

namespace dtrain {

// Runs `body`. If communication fails in it, throws Error(kPeerLost) with "`what`: reason"; other exceptions
// are passed on. gloo throws plain std::runtime_error (gloo::IoException), and c10d its own c10::DistError
// family. Neither is the caller's fault, whereas LibTorch's other errors (c10::Error) are.
void with_peer_errors(const std::string& what, const std::function<void()>& body);

}  // namespace dtrain
