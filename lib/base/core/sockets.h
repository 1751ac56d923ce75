// TCP sockets with deadlines.
#pragma once

#include <cstdint>
#include <string>

#include "core/descriptor.h"

namespace dtrain {

struct Listening {
  Descriptor socket;  // non-blocking
  uint16_t port = 0;
};

// Listens at `address` and `port` (0: any free port). Throws Error(kPeerLost) naming both.
Listening listen_at(const std::string& address, uint16_t port);

// Throws Error(kPeerLost) that says what to do if this host cannot reach itself at `address`.
void require_own_address(const std::string& address);

// Tries the addresses of `host` in turn, each for at most `seconds`. Returns a non-blocking socket; if
// nothing answers, an empty Descriptor, with the reason in `why`.
Descriptor connect_to(const std::string& host, uint16_t port, double seconds, std::string& why);

// Makes the kernel close the connection when the other end has not answered for `seconds`.
void limit_silence(int socket, double seconds);

std::string peer_address(int socket);
std::string own_address(int socket);

}  // namespace dtrain
