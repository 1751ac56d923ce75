// Errors that end a command, each with the exit code that a script sees.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace dtrain {

// The exit codes of all commands; documented in docs/architecture.md.
enum class ExitCode {
  kDone = 0,
  kBug = 1,         // a bug in dtrain
  kUsage = 2,       // bad command line or spec
  kData = 3,        // missing or damaged data
  kPeerLost = 4,    // a replica died or did not answer in time
  kMemory = 5,      // out of memory
  kDiverged = 6,    // the loss is not a finite number
  kCheckpoint = 7,  // no usable checkpoint
  kRegression = 8,  // dtrain compare: a run is worse than --max-regression allows
  kDisk = 9,        // a full disk or an I/O error
  kDisagree = 10,   // replicas disagree: memory of one of them is corrupt
  kDiffers = 11,    // dtrain verify: steps differ
  kStopped = 75,    // stopped by a signal
};

// Replaces paths in a message by the names that the user knows. Null until there are such names
// (name_in_messages, core/addresses.h). Modules and plug-ins know no other part of core.
inline std::atomic<std::string (*)(std::string message)> as_named_in_messages = nullptr;

// An error whose message tells the user what to do. Code below lib/app/cli throws it; lib/app/cli prints the
// message to stderr and exits with the code.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message)
      : std::runtime_error(as_named_in_messages == nullptr ? message : as_named_in_messages.load()(message)),
        code_(code) {}
  // As fmt::format. A message without arguments is no format: it may hold braces.
  template <class... Values>
  requires(sizeof...(Values) > 0)
      Error(ExitCode code, fmt::format_string<Values...> format, Values&&... values)
      : Error(code, fmt::vformat(format, fmt::make_format_args(values...))) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace dtrain
