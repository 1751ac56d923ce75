#include "processes/report_lines.h"

#include <fmt/format.h>

namespace dtrain {

void ReportLines::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, newline);
    bytes_ += static_cast<int64_t>(piece.size());
    if (bytes_ <= static_cast<int64_t>(kMaxReportLine)) {
      partial_ += piece;
    } else {
      partial_.clear();
    }
    if (newline == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(newline + 1);
  }
}

void ReportLines::finish() { end_line(); }

void ReportLines::end_line() {
  const int64_t bytes = std::exchange(bytes_, 0);
  std::string line = std::exchange(partial_, {});
  if (bytes == 0) return;
  if (bytes > static_cast<int64_t>(kMaxReportLine)) {
    line = fmt::format(R"({{"event":"report_dropped","bytes":{}}})", bytes);
  }
  on_line_(line);
}

}  // namespace dtrain
