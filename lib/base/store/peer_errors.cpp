#include "store/peer_errors.h"

#include <c10/util/Exception.h>

#include <stdexcept>

#include "core/error.h"

namespace dtrain {
namespace {

// The first line of the text, without the source position that gloo puts in front: "[file.cc:123] text" ->
// "text".
std::string brief(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  const size_t bracket = line.find("] ");
  if (!line.empty() && line.front() == '[' && bracket != std::string::npos) line.erase(0, bracket + 2);
  return line;
}

}  // namespace

void with_peer_errors(const std::string& what, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error&) {
    throw;
  } catch (const c10::DistError& error) {
    throw Error(ExitCode::kPeerLost, what + ": " + brief(error.what_without_backtrace()));
  } catch (const std::runtime_error& error) {
    throw Error(ExitCode::kPeerLost, what + ": " + brief(error.what()));
  }
}

}  // namespace dtrain
