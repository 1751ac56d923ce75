// The key-value store at which the replicas of a job on one host meet: over a Unix socket, which only
// processes of the same user can use and which leaves no file behind.
#pragma once

#include <chrono>
#include <string>

#include "store/store.h"

namespace dtrain {

struct HostedLocalStore {
  StorePtr store;
  std::string name;  // where connect_local_store() finds it
};

// Serves a store from a thread of this process, for as long as the returned pointer or a clone of it lives.
// Connections of other users are closed at once. Throws Error(kPeerLost) when there is no socket to be had.
HostedLocalStore host_local_store(std::chrono::milliseconds timeout);

// Connects to a store that a process of this user serves on this host. `timeout` is that of every later wait,
// and how long its host may be silent. Throws Error(kPeerLost) when nobody answers, or another user does.
//
// Like c10d's TCPStore, it makes one request at a time: a wait holds up all who share it, and clone() makes
// another connection. What fails is a c10::DistStoreError when keys were not set in time, and a
// c10::DistNetworkError when the store is gone, which is noticed at once.
StorePtr connect_local_store(const std::string& name, std::chrono::milliseconds timeout);

}  // namespace dtrain
