// Memory that the ranks of one host share, without a name in any file system: nothing can be left behind,
// whoever is killed and whenever.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "store/store.h"

namespace dtrain {

class SharedSegment {
 public:
  // Collective over `size` ranks of one host and one user that meet at `store` under `name` (used once). Rank
  // 0 makes the memory, zeroed, and the others map it through /proc/PID/fd; returns when everyone has. Throws
  // Error(kPeerLost) when a rank does not come in time, and Error(kUsage) when one cannot map it (other
  // container, other user).
  SharedSegment(const StorePtr& store, const std::string& name, int rank, int size, size_t bytes,
                std::chrono::milliseconds timeout);

  std::byte* data() const { return mapping_.get(); }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Unmap> mapping_;
};

}  // namespace dtrain
