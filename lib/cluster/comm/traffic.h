// The bytes sent and received through sockets, as the kernel counts them.
#pragma once

#include <cstdint>
#include <vector>

namespace dtrain {

// Bytes of payload: retransmissions are not counted again, nor are the headers of TCP and of the layers
// below.
struct Traffic {
  int64_t sent = 0;
  int64_t received = 0;

  Traffic& operator+=(const Traffic& other);
  Traffic operator-(const Traffic& other) const;
};

// The total traffic of these connected TCP sockets so far. Closed sockets count as zero, and so do all
// sockets on kernels that do not count (before Linux 4.19).
Traffic traffic_of(const std::vector<int>& sockets);

}  // namespace dtrain
