// What goes over sockets, as the kernel counts it.
#pragma once

#include <cstdint>
#include <vector>

namespace dtrain {

// Bytes of what was said, each once however often it was repeated on its way, without the headers of TCP and
// below.
struct Traffic {
  int64_t sent = 0;
  int64_t received = 0;

  Traffic& operator+=(const Traffic& other);
  Traffic operator-(const Traffic& other) const;
};

// What has gone over these connected TCP sockets so far, all together. Nothing for those that are closed, and
// on kernels that do not count (before Linux 4.19).
Traffic traffic_of(const std::vector<int>& sockets);

}  // namespace dtrain
