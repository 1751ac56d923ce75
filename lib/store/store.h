// The key-value store at which the replicas of a job on several hosts meet (c10d's TCPStore); of one host:
// local_store.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

struct HostedStore {
  StorePtr store;
  uint16_t port = 0;
  Descriptor listener;  // a second hold of the socket that it listens on

  // From now on lets only hosts with these addresses connect (socket_filter.h).
  void admit(const std::vector<std::string>& addresses) const;
};

// Serves a store on `address` only (TCPStore by itself would listen on every interface), at `port`, or at a
// free one when that is 0. Lives as long as the returned pointer. Throws Error(kPeerLost) when the port
// cannot be had.
HostedStore host_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout);

// Connects to a store that another process serves. Throws Error(kPeerLost) when nobody answers within
// `timeout`, which is also that of every later wait, and how long its host may be silent.
StorePtr connect_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout);

// Sets `key`, for those that wait for it. Throws Error(kPeerLost) when the store is gone.
void set_key(const StorePtr& store, const std::string& key);

// Waits, however long it takes, until some process has set `key`. Throws Error(kPeerLost) when the store is
// gone.
void wait_for_key(const StorePtr& store, const std::string& key);

// Collective: waits until all `size` ranks are here, each with whatever it had to do before. Throws
// Error(kPeerLost) that lists the missing ones when they are not within `timeout`. Once for a store (or a
// prefix of it).
void wait_for_ranks(const StorePtr& store, int rank, int size, std::chrono::milliseconds timeout);

}  // namespace dtrain
