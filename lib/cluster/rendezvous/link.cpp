#include "rendezvous/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/signals.h"
#include "core/sockets.h"

namespace dtrain {
namespace {

constexpr double kSendSeconds = 2;

}  // namespace

std::string line_of(const nlohmann::json& object) {
  return object.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Link::Link(Descriptor socket, double silence_seconds, std::string received)
    : socket_(std::move(socket)), input_(std::move(received)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  limit_silence(socket_.get(), silence_seconds);
}

void Link::send(const std::string& line) {
  const std::string text = line + '\n';
  const double deadline = steady_seconds() + kSendSeconds;
  for (size_t sent = 0; sent < text.size() && !closed_;) {
    const ssize_t put = ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (put >= 0) {
      sent += static_cast<size_t>(put);
    } else if ((errno == EAGAIN || errno == EINTR) && steady_seconds() < deadline) {
      pollfd room{socket_.get(), POLLOUT, 0};
      ::poll(&room, 1, kLinkLookMilliseconds);
    } else {
      closed_ = true;
    }
  }
}

void Link::read_all() {
  std::array<char, 65536> bytes;
  while (!closed_) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      input_.append(bytes.data(), static_cast<size_t>(got));
      // Without a limit, a line that never ends would use up all memory.
      if (input_.size() > kMaxLinkLine && input_.find('\n') == std::string::npos) closed_ = true;
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      closed_ = got == 0 || errno != EAGAIN;
      return;
    }
  }
}

std::optional<std::string> Link::take_line() {
  const size_t end = input_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  return line;
}

std::vector<std::string> Link::receive() {
  read_all();
  std::vector<std::string> lines;
  while (auto line = take_line()) lines.push_back(std::move(*line));
  return lines;
}

std::optional<std::string> Link::next(double seconds) {
  const double deadline = steady_seconds() + seconds;
  const int stops = stop_signals_received();
  while (true) {
    read_all();
    if (auto line = take_line()) return line;
    const double left = deadline - steady_seconds();
    if (closed_ || left <= 0 || stop_signals_received() > stops) return std::nullopt;
    pollfd ready{socket_.get(), POLLIN, 0};
    ::poll(&ready, 1, std::min(kLinkLookMilliseconds, static_cast<int>(left * 1000) + 1));
  }
}

}  // namespace dtrain
