#include "store/local_store.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "core/text.h"
#include "store/local_store_messages.h"

namespace dtrain {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<uint8_t>;

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::string seconds_of(milliseconds duration) {
  return human_duration(std::chrono::duration<double>(duration).count());
}

// What is missing here, such as append(), c10d makes of the rest.
class LocalStore : public c10d::Store {
 public:
  // `host` serves the store, if it is in this process.
  LocalStore(std::string name, milliseconds timeout, std::shared_ptr<LocalStoreHost> host)
      : Store(timeout),
        host_(std::move(host)),
        name_(std::move(name)),
        socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const AbstractAddress to(name_);
    const timeval limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
    const int fd = socket_.get();
    if (fd < 0) fail(std::strerror(errno));
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to.address), to.length) != 0)
      fail(std::strerror(errno));
    // After a store has ended, another user could take its name and receive what was meant for the store.
    if (!is_same_user(fd)) fail("it belongs to another user");
  }

  c10::intrusive_ptr<c10d::Store> clone() override {
    return c10::make_intrusive<LocalStore>(name_, timeout_, host_);
  }

  void set(const std::string& key, const Bytes& value) override {
    ask(StoreRequest::kSet, {key, text_of(value)});
  }

  Bytes get(const std::string& key) override {
    return bytes_of(first_of(wait_with(StoreRequest::kGet, {key}, timeout_)));
  }

  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    return bytes_of(first_of(ask(StoreRequest::kCompareSet, {key, text_of(expected), text_of(desired)})));
  }

  int64_t add(const std::string& key, int64_t value) override {
    return std::stoll(first_of(ask(StoreRequest::kAdd, {key, std::to_string(value)})));
  }

  bool deleteKey(const std::string& key) override {
    return first_of(ask(StoreRequest::kDelete, {key})) == "1";
  }

  bool check(const std::vector<std::string>& keys) override {
    return first_of(ask(StoreRequest::kCheck, keys)) == "1";
  }

  int64_t getNumKeys() override { return std::stoll(first_of(ask(StoreRequest::kCount, {}))); }

  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }

  void wait(const std::vector<std::string>& keys, const milliseconds& timeout) override {
    wait_with(StoreRequest::kWait, keys, timeout);
  }

 private:
  [[noreturn]] void fail(const std::string& why) {
    socket_.reset();  // a late answer would be taken for the answer to another request
    C10_THROW_ERROR(DistNetworkError, "the job's store: " + why);
  }

  std::string first_of(const StoreMessage& reply) {
    if (reply.size() != 1) fail("it answered something else");
    return reply.front();
  }

  StoreMessage wait_with(StoreRequest kind, const std::vector<std::string>& keys, milliseconds timeout) {
    StoreMessage fields = {std::to_string(timeout.count())};
    fields.insert(fields.end(), keys.begin(), keys.end());
    std::optional<milliseconds> patience;
    if (timeout > milliseconds::zero()) patience = timeout + timeout_;
    return ask(kind, fields, patience);
  }

  StoreMessage ask(StoreRequest kind, const StoreMessage& fields) { return ask(kind, fields, timeout_); }

  // Sends a request. Returns the answer without its first field. `patience`: how long to wait, or forever.
  StoreMessage ask(StoreRequest kind, const StoreMessage& fields, std::optional<milliseconds> patience) {
    StoreMessage request = {std::string(1, static_cast<char>(kind))};
    request.insert(request.end(), fields.begin(), fields.end());
    const std::string bytes = encode(request);
    const std::lock_guard lock(mutex_);
    if (socket_.get() < 0) fail("the connection to it was lost before");
    send(bytes);
    StoreMessage reply = receive(patience);
    if (reply.empty()) fail("it answered something else");
    const std::string outcome = reply.front();
    reply.erase(reply.begin());
    if (outcome == kStoreTimedOut) {
      C10_THROW_ERROR(DistStoreError,
                      fmt::format("in {} nobody set {}", seconds_of(*patience - timeout_), join(reply)));
    }
    if (outcome != kStoreDone)
      C10_THROW_ERROR(DistStoreError, reply.empty() ? "the job's store refused" : reply.front());
    return reply;
  }

  void send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t put = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (put >= 0) sent += static_cast<size_t>(put);
      if (put < 0 && errno == EAGAIN) fail(silence(timeout_));
      if (put < 0 && errno != EINTR) fail(reason(errno));
    }
  }

  StoreMessage receive(std::optional<milliseconds> patience) {
    const auto deadline = Clock::now() + patience.value_or(milliseconds::zero());
    std::string received;
    while (true) {
      try {
        if (auto message = take_message(received)) return *message;
      } catch (const std::exception& error) {
        fail(error.what());
      }
      int rest = -1;
      if (patience) {
        const int64_t left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) fail(silence(*patience));
        rest = static_cast<int>(std::min<int64_t>(left, std::numeric_limits<int>::max()));
      }
      pollfd readable{socket_.get(), POLLIN, 0};
      if (::poll(&readable, 1, rest) <= 0) continue;
      char bytes[64 << 10];
      const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (got > 0) received.append(bytes, static_cast<size_t>(got));
      if (got == 0) fail(reason(ECONNRESET));
      if (got < 0 && errno != EINTR && errno != EAGAIN) fail(reason(errno));
    }
  }

  static std::string reason(int error) {
    const bool ended = error == ECONNRESET || error == EPIPE;
    return ended ? "the process that served it has ended" : std::strerror(error);
  }

  static std::string silence(milliseconds duration) {
    return fmt::format("no answer within {}", seconds_of(duration));
  }

  std::shared_ptr<LocalStoreHost> host_;
  std::string name_;
  std::mutex mutex_;  // only one request at a time
  Descriptor socket_;
};

}  // namespace

HostedLocalStore host_local_store(milliseconds timeout) {
  const auto host = std::make_shared<LocalStoreHost>();
  HostedLocalStore hosted{nullptr, host->name()};
  with_peer_errors("hosting the job's store",
                   [&] { hosted.store = c10::make_intrusive<LocalStore>(host->name(), timeout, host); });
  return hosted;
}

StorePtr connect_local_store(const std::string& name, milliseconds timeout) {
  StorePtr store;
  with_peer_errors("connecting to the job's store on this host",
                   [&] { store = c10::make_intrusive<LocalStore>(name, timeout, nullptr); });
  return store;
}

}  // namespace dtrain
