#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <list>
#include <stdexcept>
#include <unordered_map>

#include "core/error.h"
#include "core/text.h"
#include "store/local_store_messages.h"

namespace dtrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr int kPauseMilliseconds = 100;  // before the next attempt to accept, when descriptors were used up

// A client that is waiting for keys, or for their values.
struct Waiting {
  std::vector<std::string> keys;
  bool wants_values;
  std::optional<Clock::time_point> deadline;  // nullopt: wait forever
};

struct Connection {
  Descriptor socket;
  std::string received = {};
  std::string to_send = {};
  std::optional<Waiting> waiting = {};  // set while the answer has to wait
};

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int64_t number_of(const std::string& text) {
  if (const auto number = whole_number(text)) return *number;
  throw Refusal("the key to add to does not hold a number");
}

class KeyValueServer {
 public:
  explicit KeyValueServer(int listener) : listener_(listener) {}

  // Runs until the listening socket is shut down.
  void serve() {
    std::vector<pollfd> watched;
    do {
      watch(watched);
      if (::poll(watched.data(), watched.size(), patience()) < 0 && errno != EINTR) return;
      size_t index = 1;
      for (Connection& connection : connections_) {
        if (watched[index++].revents != 0) attend(connection);
      }
      const auto now = Clock::now();
      for (Connection& connection : connections_) answer_waiting(connection, now);
      connections_.remove_if([](const Connection& connection) { return connection.socket.get() < 0; });
      full_ = false;
      if ((watched[0].revents & POLLIN) != 0) accept_all();
    } while ((watched[0].revents & (POLLHUP | POLLERR | POLLNVAL)) == 0);
  }

 private:
  // First the listening socket, then the connections in their order.
  void watch(std::vector<pollfd>& watched) const {
    watched.assign(1, {listener_, static_cast<short>(full_ ? 0 : POLLIN), 0});
    for (const Connection& connection : connections_) {
      const bool sends = !connection.to_send.empty();
      watched.push_back({connection.socket.get(), static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0});
    }
  }

  // Milliseconds until the next wait times out; -1: never.
  int patience() const {
    std::optional<Clock::time_point> next;
    for (const Connection& connection : connections_) {
      if (!connection.waiting || !connection.waiting->deadline) continue;
      next = next ? std::min(*next, *connection.waiting->deadline) : *connection.waiting->deadline;
    }
    if (full_) return kPauseMilliseconds;
    if (!next) return -1;
    const int64_t rest = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(rest, 0, std::numeric_limits<int>::max()));
  }

  void accept_all() {
    while (true) {
      Descriptor socket(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.get() < 0) {
        full_ = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        return;
      }
      if (is_same_user(socket.get())) connections_.push_back({std::move(socket)});
    }
  }

  // If a connection fails or sends an invalid request, closes it; the other process notices.
  void attend(Connection& connection) {
    try {
      if (!receive(connection)) return connection.socket.reset();
      while (const auto request = take_message(connection.received)) answer(connection, *request);
      send(connection);
    } catch (const std::exception&) {
      connection.socket.reset();
    }
  }

  // Reads what has arrived, at most the longest message at once. Returns false if the other end is gone.
  static bool receive(Connection& connection) {
    char bytes[kReadBytes];
    const ssize_t got = ::recv(connection.socket.get(), bytes, sizeof bytes, 0);
    if (got > 0) connection.received.append(bytes, static_cast<size_t>(got));
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
  }

  static void send(Connection& connection) {
    std::string& bytes = connection.to_send;
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t put =
          ::send(connection.socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0 && errno != EAGAIN && errno != EWOULDBLOCK) connection.socket.reset();
      if (put < 0) break;
      sent += static_cast<size_t>(put);
    }
    bytes.erase(0, sent);
  }

  void answer(Connection& connection, const StoreMessage& request) {
    if (connection.waiting) throw std::invalid_argument("a request before the last one was answered");
    StoreMessage reply;
    try {
      if (request.empty() || request[0].size() != 1) throw Refusal("no request");
      const auto kind = static_cast<StoreRequest>(request[0][0]);
      if (kind == StoreRequest::kGet || kind == StoreRequest::kWait) {
        require(request.size() >= 2);
        const int64_t milliseconds = number_of(request[1]);
        connection.waiting = Waiting{
            {request.begin() + 2, request.end()}, /*wants_values=*/kind == StoreRequest::kGet, std::nullopt};
        if (milliseconds > 0)
          connection.waiting->deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
        return;
      }
      reply = reply_to(kind, request);
      reply.insert(reply.begin(), kStoreDone);
    } catch (const Refusal& refusal) {
      reply = {kStoreRefused, refusal.what()};
    }
    connection.to_send += encode(reply);
  }

  static void require(bool right) {
    if (!right) throw Refusal("a request has too few or too many fields");
  }

  StoreMessage reply_to(StoreRequest kind, const StoreMessage& request) {
    const size_t fields = request.size() - 1;
    switch (kind) {
      case StoreRequest::kSet:
        require(fields == 2);
        values_[request[1]] = request[2];
        return {};
      case StoreRequest::kCheck:
        return {missing({request.begin() + 1, request.end()}).empty() ? "1" : "0"};
      case StoreRequest::kAdd:
        require(fields == 2);
        return {add(values_[request[1]], number_of(request[2]))};
      case StoreRequest::kCompareSet:
        require(fields == 3);
        return {compare_set(request[1], request[2], request[3])};
      case StoreRequest::kDelete:
        require(fields == 1);
        return {values_.erase(request[1]) == 1 ? "1" : "0"};
      case StoreRequest::kCount:
        return {std::to_string(values_.size())};
      default:
        throw Refusal("an unknown request");
    }
  }

  static std::string add(std::string& value, int64_t number) {
    return value = std::to_string((value.empty() ? 0 : number_of(value)) + number);
  }

  // As in c10d's stores, an empty `expected` matches a key that is not set.
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
    const auto found = values_.find(key);
    if (found == values_.end()) return expected.empty() ? values_[key] = desired : expected;
    if (found->second == expected) found->second = desired;
    return found->second;
  }

  std::vector<std::string> missing(const std::vector<std::string>& keys) const {
    std::vector<std::string> missing;
    for (const std::string& key : keys) {
      if (!values_.contains(key)) missing.push_back(key);
    }
    return missing;
  }

  void answer_waiting(Connection& connection, Clock::time_point now) {
    if (!connection.waiting || connection.socket.get() < 0) return;
    const Waiting& waiting = *connection.waiting;
    StoreMessage reply = missing(waiting.keys);
    const bool done = reply.empty();
    if (!done && !(waiting.deadline && now >= *waiting.deadline)) return;
    if (done && waiting.wants_values) {
      for (const std::string& key : waiting.keys) reply.push_back(values_.at(key));
    }
    reply.insert(reply.begin(), done ? kStoreDone : kStoreTimedOut);
    connection.waiting.reset();
    try {
      connection.to_send += encode(reply);
      send(connection);
    } catch (const std::exception&) {
      connection.socket.reset();
    }
  }

  int listener_;
  bool full_ = false;  // descriptors were used up when accepting a connection
  std::list<Connection> connections_;
  std::unordered_map<std::string, std::string> values_;
};

// The new thread blocks all signals: they are for the threads that wait for them.
std::thread thread_without_signals(const std::function<void()>& body) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(body);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

LocalStoreHost::LocalStoreHost()
    : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const int fd = listener_.get();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof address;
  // Without a name, the kernel chooses a free one.
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address.sun_family) != 0 ||
      ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw Error(ExitCode::kPeerLost, "cannot serve a store to this host's replicas: {}",
                std::strerror(errno));
  }
  name_.assign(address.sun_path + 1, length - offsetof(sockaddr_un, sun_path) - 1);
  thread_ = thread_without_signals([fd] { KeyValueServer(fd).serve(); });
}

LocalStoreHost::~LocalStoreHost() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

}  // namespace dtrain
