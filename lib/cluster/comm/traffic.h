// What the kernel knows about connections: bytes sent and received, round trips, and rates.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtrain {

// Bytes of payload, without retransmissions and without the headers of TCP and the layers below.
struct Traffic {
  int64_t sent = 0;
  int64_t received = 0;

  Traffic& operator+=(const Traffic& other);
  Traffic operator-(const Traffic& other) const;
};

// The total traffic of these connected TCP sockets so far. Closed sockets count as zero, and so do all
// sockets on kernels that do not count (before Linux 4.19).
Traffic traffic_of(const std::vector<int>& sockets);

// The connections to one host. Bytes are the sum over these; the other numbers are the largest of any.
struct HostLink {
  Traffic bytes;
  int64_t retransmitted = 0;       // bytes
  double round_trip_us = 0;        // lately, smoothed; waiting in queues counts
  double least_round_trip_us = 0;  // of the last minutes
  double bytes_per_second = 0;     // at which data arrived lately, which may be no more than was sent

  HostLink& operator+=(const HostLink& other);
};

// By the address of the other end, without the sockets that traffic_of() counts as zero.
std::map<std::string, HostLink> links_of(const std::vector<int>& sockets);

}  // namespace dtrain
