// What serves a store to the processes of one host (local_store.h).
#pragma once

#include <string>
#include <thread>

#include "core/descriptor.h"

namespace dtrain {

// Serves a store, on a thread of its own, for as long as it lives. Connections of other users are closed at
// once. Throws Error(kPeerLost) when there is no socket to be had.
class LocalStoreHost {
 public:
  LocalStoreHost();
  ~LocalStoreHost();
  LocalStoreHost(const LocalStoreHost&) = delete;
  LocalStoreHost& operator=(const LocalStoreHost&) = delete;

  // Of its socket, in the abstract namespace (unix(7)).
  const std::string& name() const { return name_; }

 private:
  Descriptor listener_;
  std::string name_;
  std::thread thread_;
};

}  // namespace dtrain
