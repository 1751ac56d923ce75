// A replica's connection to its supervisor: the pipe for reports and the status board, by the environment.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "processes/status_board.h"

namespace dtrain {

// Sends lines to the supervisor. Thread-safe: lines are never mixed.
class ReportPipe {
 public:
  // Takes over the pipe named by DTRAIN_REPORT_FD, and closes it on exec. Returns nullptr if the variable is
  // not set (there is no supervisor). Throws Error(kUsage) if it does not name a writable descriptor.
  static std::unique_ptr<ReportPipe> from_environment();

  // Sends one line of JSON. `line` must not contain a newline, and has at most kMaxReportLine bytes. Blocks
  // while the pipe is full. It is no error if the supervisor is gone, because this process ends with it.
  // SIGPIPE must be ignored (core/signals.h).
  void write(const std::string& line);

  // Returns when the supervisor, which counts in slot `rank` of `board`, has passed on all lines, or is gone.
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

constexpr size_t kMaxReportLine = size_t{1} << 20;  // bytes, without the newline

// Splits what a replica wrote to its report pipe into lines, with bounded memory.
class ReportLines {
 public:
  // `on_line` is called with every non-empty line, without its newline. A line longer than kMaxReportLine is
  // replaced by {"event":"report_dropped","bytes":N}.
  explicit ReportLines(std::function<void(const std::string&)> on_line) : on_line_(std::move(on_line)) {}

  void append(std::string_view bytes);
  // The writer is gone: passes on an unfinished last line (which is incomplete if the writer was killed).
  void finish() { end_line(); }

 private:
  void end_line();
  std::function<void(const std::string&)> on_line_;
  std::string partial_;
  int64_t bytes_ = 0;  // of the current line, including bytes not kept
};

}  // namespace dtrain
