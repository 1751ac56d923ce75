#include "comm/traffic.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "core/sockets.h"

namespace dtrain {
namespace {

// nullopt if the socket is closed, or the kernel does not count.
std::optional<HostLink> link_of(int socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (length < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans) return std::nullopt;
  // Data that waits in the kernel counts as sent.
  const Traffic bytes = {
      static_cast<int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_notsent_bytes),
      static_cast<int64_t>(info.tcpi_bytes_received)};
  return HostLink{bytes, static_cast<int64_t>(info.tcpi_bytes_retrans), static_cast<double>(info.tcpi_rtt),
                  static_cast<double>(std::min(info.tcpi_min_rtt, info.tcpi_rtt)),
                  static_cast<double>(info.tcpi_delivery_rate)};
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  sent += other.sent;
  received += other.received;
  return *this;
}

Traffic Traffic::operator-(const Traffic& other) const {
  return {sent - other.sent, received - other.received};
}

HostLink& HostLink::operator+=(const HostLink& other) {
  bytes += other.bytes;
  retransmitted += other.retransmitted;
  round_trip_us = std::max(round_trip_us, other.round_trip_us);
  least_round_trip_us = std::max(least_round_trip_us, other.least_round_trip_us);
  bytes_per_second = std::max(bytes_per_second, other.bytes_per_second);
  return *this;
}

Traffic traffic_of(const std::vector<int>& sockets) {
  Traffic all;
  for (const int socket : sockets) all += link_of(socket).value_or(HostLink()).bytes;
  return all;
}

std::map<std::string, HostLink> links_of(const std::vector<int>& sockets) {
  std::map<std::string, HostLink> links;
  for (const int socket : sockets) {
    if (const auto link = link_of(socket)) links[peer_address(socket)] += *link;
  }
  return links;
}

}  // namespace dtrain
