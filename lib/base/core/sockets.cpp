#include "core/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace dtrain {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// The addresses that `host` resolves to. If there are none, the list is empty and `why` holds the reason.
AddressList look_up(const std::string& host, uint16_t port, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) why = gai_strerror(failure);
  return AddressList(failure == 0 ? found : nullptr, &freeaddrinfo);
}

Descriptor open_socket(const addrinfo& address) {
  return Descriptor(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::string numeric(const sockaddr_storage& name, socklen_t length, int wanted) {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  getnameinfo(reinterpret_cast<const sockaddr*>(&name), length, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return wanted == NI_NUMERICHOST ? host : port;
}

template <class NameOf>
std::string address_by(const NameOf& name_of, int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  name_of(socket, reinterpret_cast<sockaddr*>(&name), &length);
  return numeric(name, length, NI_NUMERICHOST);
}

// Returns 0 if connected, otherwise the error.
int connect_one(const addrinfo& address, int socket, double seconds) {
  if (::connect(socket, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd done{socket, POLLOUT, 0};
  if (::poll(&done, 1, static_cast<int>(seconds * 1000) + 1) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

Listening listen_at(const std::string& address, uint16_t port) {
  std::string why;
  const AddressList found = look_up(address, port, why);
  Listening listening;
  if (found) {
    listening.socket = open_socket(*found);
    const int yes = 1;
    const int fd = listening.socket.get();
    sockaddr_storage name{};
    socklen_t length = sizeof name;
    if (fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        ::bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) == 0) {
      listening.port = static_cast<uint16_t>(std::stoul(numeric(name, length, NI_NUMERICSERV)));
      return listening;
    }
    if (errno == EADDRNOTAVAIL)
      throw Error(ExitCode::kPeerLost,
                  "cannot listen at {}: no network interface of this host has that address; ip address lists "
                  "those that there are, and ip link set lo up brings up 127.0.0.1",
                  address);
    why = std::strerror(errno);
  }
  throw Error(ExitCode::kPeerLost,
              "cannot listen at {}:{}: {}; another job may be using the port (network.port chooses one)",
              address, port, why);
}

void require_own_address(const std::string& address) {
  constexpr double kSeconds = 5;
  std::string why;
  const Listening own = listen_at(address, 0);
  if (connect_to(address, own.port, kSeconds, why).get() >= 0) return;
  throw Error(ExitCode::kPeerLost,
              "this host cannot reach itself at {}: {}; bring up its loopback interface (ip link set lo up), "
              "or, where there are no parameter servers, use strategy.communication: shared_memory",
              address, why);
}

Descriptor connect_to(const std::string& host, uint16_t port, double seconds, std::string& why) {
  const AddressList found = look_up(host, port, why);
  for (const addrinfo* entry = found.get(); entry != nullptr; entry = entry->ai_next) {
    Descriptor socket = open_socket(*entry);
    const int error = socket.get() < 0 ? errno : connect_one(*entry, socket.get(), seconds);
    if (error == 0) return socket;
    why = std::strerror(error);
  }
  return {};
}

void limit_silence(int socket, double seconds) {
  const int whole = std::max(1, static_cast<int>(seconds));
  const int milliseconds = whole * 1000;
  const int interval = std::max(1, whole / 4);
  const int yes = 1;
  const int probes = 4;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

std::string peer_address(int socket) { return address_by(::getpeername, socket); }

std::string own_address(int socket) { return address_by(::getsockname, socket); }

}  // namespace dtrain
