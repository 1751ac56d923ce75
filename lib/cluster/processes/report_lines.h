// Splits what a replica wrote to its report pipe into lines, with bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace dtrain {

constexpr size_t kMaxReportLine = size_t{1} << 20;  // bytes, without the newline

class ReportLines {
 public:
  // `on_line` is called with every non-empty line, without its newline. A line longer than kMaxReportLine is
  // replaced by {"event":"report_dropped","bytes":N}.
  explicit ReportLines(std::function<void(const std::string&)> on_line) : on_line_(std::move(on_line)) {}

  void append(std::string_view bytes);
  // The writer is gone: passes on an unfinished last line (which is incomplete if the writer was killed).
  void finish();

 private:
  void end_line();
  std::function<void(const std::string&)> on_line_;
  std::string partial_;
  int64_t bytes_ = 0;  // of the current line, including bytes not kept
};

}  // namespace dtrain
