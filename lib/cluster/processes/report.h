// A replica's connection to its supervisor: the pipe for reports and the status board. The environment names
// both.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/descriptor.h"
#include "processes/status_board.h"

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

  // Returns when the supervisor has passed on all lines so far; it counts them in slot `rank` of `board`. At
  // once if it is gone.
  void settle(const StatusBoard& board, int rank);

 private:
  explicit ReportPipe(int descriptor) : descriptor_(descriptor) {}
  bool is_read() const;  // whether there is a reader

  Descriptor descriptor_;
  std::mutex mutex_;
  std::atomic<uint64_t> lines_{0};  // written
};

// Takes over the board named by DTRAIN_BOARD_FD. Returns nullptr if the variable is not set. Throws
// Error(kUsage) if the variable is malformed, and Error(kBug) if the descriptor is not a board.
std::unique_ptr<StatusBoard> board_from_environment();

}  // namespace dtrain
