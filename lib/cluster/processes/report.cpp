#include "processes/report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "core/environment.h"
#include "core/error.h"
#include "core/files.h"

namespace dtrain {
namespace {

constexpr std::chrono::milliseconds kSettleInterval{1};

// Refuses 0 to 2, the standard streams: no report pipe has these numbers.
std::optional<int> environment_descriptor(const char* name) {
  const auto number = environment_number(name, 3, std::numeric_limits<int>::max());
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

std::unique_ptr<ReportPipe> ReportPipe::from_environment() {
  const auto descriptor = environment_descriptor("DTRAIN_REPORT_FD");
  if (!descriptor) return nullptr;
  const int flags = ::fcntl(*descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    throw Error(ExitCode::kUsage,
                "the environment has DTRAIN_REPORT_FD={}, which is not open for writing; dtrain sets it for "
                "its own replicas, unset it",
                *descriptor);
  }
  ::fcntl(*descriptor, F_SETFD, FD_CLOEXEC);
  return std::unique_ptr<ReportPipe>(new ReportPipe(*descriptor));
}

void ReportPipe::write(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const std::string text = line + '\n';
  if (write_all(descriptor_.get(), text.data(), text.size())) ++lines_;  // else EPIPE
}

bool ReportPipe::is_read() const {
  pollfd pipe{descriptor_.get(), 0, 0};
  return ::poll(&pipe, 1, 0) == 0;  // without a reader there is an error to report
}

void ReportPipe::settle(const StatusBoard& board, int rank) {
  const uint64_t said = lines_;
  while (board.reports(rank) < said && is_read()) std::this_thread::sleep_for(kSettleInterval);
}

std::unique_ptr<StatusBoard> board_from_environment() {
  const auto descriptor = environment_descriptor("DTRAIN_BOARD_FD");
  return descriptor ? StatusBoard::open(*descriptor) : nullptr;
}

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

void ReportLines::end_line() {
  const int64_t bytes = std::exchange(bytes_, 0);
  std::string line = std::exchange(partial_, {});
  if (bytes == 0) return;
  if (bytes > static_cast<int64_t>(kMaxReportLine))
    line = fmt::format(R"({{"event":"report_dropped","bytes":{}}})", bytes);
  on_line_(line);
}

}  // namespace dtrain
