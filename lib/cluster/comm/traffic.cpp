#include "comm/traffic.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace dtrain {

Traffic& Traffic::operator+=(const Traffic& other) {
  sent += other.sent;
  received += other.received;
  return *this;
}

Traffic Traffic::operator-(const Traffic& other) const {
  return {sent - other.sent, received - other.received};
}

Traffic traffic_of(const std::vector<int>& sockets) {
  Traffic all;
  for (const int socket : sockets) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) continue;
    if (length < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans) continue;
    // Data that waits in the kernel counts as sent.
    all += {static_cast<int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_notsent_bytes),
            static_cast<int64_t>(info.tcpi_bytes_received)};
  }
  return all;
}

}  // namespace dtrain
