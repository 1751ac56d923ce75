// A replica's connection to its supervisor: the pipe for reports and the status board. The environment names
// both.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/descriptor.h"
#include "supervise/status_board.h"

namespace dtrain {

// Sends lines to the supervisor. Thread-safe: lines are never mixed.
class ReportPipe {
 public:
  // Takes over the pipe named by DTRAIN_REPORT_FD, and closes it on exec. Returns nullptr if the variable is
  // not set (there is no supervisor). Throws Error(kUsage) if it does not name a writable descriptor.
  static std::unique_ptr<ReportPipe> from_environment();

  // Sends one line of JSON. `line` must not contain a newline, and has at most kMaxReportLine bytes
  // (report_lines.h). Blocks while the pipe is full. It is no error if the supervisor is gone, because this
  // process ends with it. SIGPIPE must be ignored (core/signals.h).
  void write(const std::string& line);

 private:
  explicit ReportPipe(int descriptor) : descriptor_(descriptor) {}
  Descriptor descriptor_;
  std::mutex mutex_;
};

// Takes over the board named by DTRAIN_BOARD_FD. Returns nullptr if the variable is not set. Throws
// Error(kUsage) if the variable is malformed, and Error(kBug) if the descriptor is not a board.
std::unique_ptr<StatusBoard> board_from_environment();

}  // namespace dtrain
