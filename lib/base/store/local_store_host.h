// The server side of the store for the processes of one host (local_store.h).
#pragma once

#include <string>
#include <thread>

#include "core/descriptor.h"

namespace dtrain {

// Serves a store on its own thread for as long as this object exists. Connections of other users are closed
// at once. Throws Error(kPeerLost) if no socket can be made.
class LocalStoreHost {
 public:
  LocalStoreHost();
  ~LocalStoreHost();
  LocalStoreHost(const LocalStoreHost&) = delete;
  LocalStoreHost& operator=(const LocalStoreHost&) = delete;

  // The name of its socket in the abstract namespace (unix(7)).
  const std::string& name() const { return name_; }

 private:
  Descriptor listener_;
  std::string name_;
  std::thread thread_;
};

}  // namespace dtrain
