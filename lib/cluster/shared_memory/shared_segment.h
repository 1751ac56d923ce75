// Memory that the ranks of one host share. It has no name in any file system, so nothing is left behind,
// whichever process is killed and whenever.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "store/store.h"

namespace dtrain {

class SharedSegment {
 public:
  // Collective over `size` ranks of one host and one user, which meet at `store` under `name` (used once).
  // Rank 0 creates the memory, zeroed, and the others map it through /proc/PID/fd. Returns when all have
  // mapped it. A single rank needs no store. Throws Error(kPeerLost) if a rank does not arrive in time or
  // rank 0 has died, and Error(kUsage) if a rank cannot map it (another user).
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
