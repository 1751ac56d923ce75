// A replica's side of its supervisor: the pipe for reports and the board, both found through the environment.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/descriptor.h"
#include "supervise/status_board.h"

namespace dtrain {

// Lines to the supervisor. Several threads may write; lines never mix.
class ReportPipe {
 public:
  // The pipe named by DTRAIN_REPORT_FD, taken over and closed on exec; nullptr when the variable is not set
  // (nobody supervises). Throws Error(kUsage) when it does not name a descriptor that can be written.
  static std::unique_ptr<ReportPipe> from_environment();

  // Sends one line of JSON; `line` has no newline in it and at most kMaxReportLine bytes (report_lines.h).
  // Blocks while the pipe is full. A supervisor that is gone is no error: this process ends with it. SIGPIPE
  // must be ignored (core/signals.h).
  void write(const std::string& line);

 private:
  explicit ReportPipe(int descriptor) : descriptor_(descriptor) {}
  Descriptor descriptor_;
  std::mutex mutex_;
};

// The board named by DTRAIN_BOARD_FD, taken over; nullptr when the variable is not set. Throws Error(kUsage)
// when the variable is malformed, Error(kBug) when the descriptor is no board.
std::unique_ptr<StatusBoard> board_from_environment();

}  // namespace dtrain
