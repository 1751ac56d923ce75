// TCP sockets with deadlines.
#pragma once

#include <cstdint>
#include <string>

#include "core/descriptor.h"

namespace dtrain {

struct Listening {
  Descriptor socket;  // does not block
  uint16_t port = 0;
};

// Listens at `address`, at `port` or at a free one when that is 0. Throws Error(kPeerLost) that names both.
Listening listen_at(const std::string& address, uint16_t port);

// Tries to connect to any address of `host` for at most `seconds`; none when nobody is there, and `why` says
// so then. The socket does not block.
Descriptor connect_to(const std::string& host, uint16_t port, double seconds, std::string& why);

// Lets the kernel end a connection whose other end does not answer for so long.
void limit_silence(int socket, double seconds);

std::string peer_address(int socket);
std::string own_address(int socket);

}  // namespace dtrain
