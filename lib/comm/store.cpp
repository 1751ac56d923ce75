#include "comm/store.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "comm/failure.h"
#include "core/error.h"

namespace dtrain {
namespace {

// A socket that listens at `address`:`port`; with port 0 the kernel picks a free one. The caller owns it.
int listen_on(const std::string& address, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(ExitCode::kPeerLost, fmt::format("store address '{}': {}", address, gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (fd < 0 || ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, SOMAXCONN) != 0) {
    const std::string reason = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    throw Error(ExitCode::kPeerLost, fmt::format("cannot listen at {}:{}: {}", address, port, reason));
  }
  return fd;
}

uint16_t port_of(int fd) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length);
  char service[8] = "0";
  getnameinfo(reinterpret_cast<sockaddr*>(&name), length, nullptr, 0, service, sizeof service,
              NI_NUMERICSERV);
  return static_cast<uint16_t>(std::stoul(service));
}

}  // namespace

HostedStore host_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout) {
  HostedStore hosted;
  const int fd = listen_on(address, port);
  hosted.port = port_of(fd);
  c10d::TCPStoreOptions options;
  options.port = hosted.port;
  options.isServer = true;
  options.waitWorkers = false;
  options.timeout = timeout;
  options.masterListenFd = fd;  // the store closes it
  with_peer_errors("hosting the store",
                   [&] { hosted.store = c10::make_intrusive<c10d::TCPStore>(address, options); });
  return hosted;
}

StorePtr connect_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout) {
  StorePtr store;
  c10d::TCPStoreOptions options;
  options.port = port;
  options.waitWorkers = false;
  options.timeout = timeout;
  with_peer_errors(fmt::format("connecting to the store at {}:{}", address, port),
                   [&] { store = c10::make_intrusive<c10d::TCPStore>(address, options); });
  return store;
}

void wait_for_key(const StorePtr& store, const std::string& key) {
  constexpr auto kPatience = std::chrono::seconds(5);
  with_peer_errors("waiting at the store", [&] {
    while (true) {
      try {
        return store->wait({key}, kPatience);
      } catch (const c10::DistStoreError&) {
        // Not set yet. A store that is gone is another error (DistNetworkError) and passes.
        if (store->check({key})) return;
      }
    }
  });
}

}  // namespace dtrain
