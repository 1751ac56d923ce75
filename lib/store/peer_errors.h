// Turns what c10d and gloo throw into our errors.
#pragma once

#include <functional>
#include <string>

namespace dtrain {

// Runs `body`. A failure of communication inside it becomes Error(kPeerLost) "`what`: reason"; other
// exceptions pass. gloo throws plain std::runtime_error (gloo::IoException), c10d its own c10::DistError
// family; neither is a fault of the caller, while LibTorch's other errors (c10::Error) are.
void with_peer_errors(const std::string& what, const std::function<void()>& body);

}  // namespace dtrain
