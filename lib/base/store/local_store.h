// The key-value store that the replicas of a job on one host share. It uses a Unix socket that only processes
// of the same user can connect to and that leaves no file behind.
#pragma once

#include <chrono>
#include <string>

#include "store/store.h"

namespace dtrain {

struct HostedLocalStore {
  StorePtr store;
  std::string name;  // the name for connect_local_store()
};

// Serves a store from a thread of this process, for as long as the returned pointer or a clone of it exists.
// Connections of other users are closed at once. Throws Error(kPeerLost) if no socket can be made.
HostedLocalStore host_local_store(std::chrono::milliseconds timeout);

// Connects to a store that a process of this user serves on this host. `timeout` is the time limit of every
// later wait, and how long the host process may take to answer. Throws Error(kPeerLost) if there is no
// answer, or if the store belongs to another user.
//
// As with c10d's TCPStore, a connection handles one request at a time: a wait blocks all users of the
// pointer, and clone() makes another connection. Requests throw c10::DistStoreError if keys were not set in
// time, and c10::DistNetworkError if the store is gone, which is noticed at once.
StorePtr connect_local_store(const std::string& name, std::chrono::milliseconds timeout);

}  // namespace dtrain
