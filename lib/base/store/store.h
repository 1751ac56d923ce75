// The key-value store that the replicas of a job on several hosts share (c10d's TCPStore). local_store.h has
// the store for a single host. Also converts the exceptions of c10d and gloo into dtrain's errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "core/descriptor.h"

namespace dtrain {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

struct HostedStore {
  StorePtr store;
  uint16_t port = 0;
  Descriptor listener;  // a second descriptor of the store's listening socket

  // From now on, allows only hosts with these addresses to connect (socket_filter.h).
  void admit(const std::vector<std::string>& addresses) const;
};

// Serves a store on `address` only (TCPStore would listen on every interface), on `port`, or on any free port
// if that is 0. The store lives as long as the returned pointer. Throws Error(kPeerLost) if it cannot.
HostedStore host_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout);

// Connects to a store that another process serves. Throws Error(kPeerLost) if there is no answer within
// `timeout`. `timeout` is also the limit of every later wait, and how long the store's host may be silent.
StorePtr connect_store(const std::string& address, uint16_t port, std::chrono::milliseconds timeout);

// Sets `key`, for processes that wait for it. Throws Error(kPeerLost) if the store is gone.
void set_key(const StorePtr& store, const std::string& key);

// Waits without a time limit until some process has set `key`. Throws Error(kPeerLost) if the store is gone.
void wait_for_key(const StorePtr& store, const std::string& key);

// Collective: returns when all `size` ranks have called it, whatever they had to do before. Throws an
// Error(kPeerLost) that lists the missing ranks if some do not arrive within `timeout`, and none says
// meanwhile that it is still at work. Use it once per store (or per prefix of a store).
void wait_for_ranks(const StorePtr& store, int rank, int size, std::chrono::milliseconds timeout);

// Says so, to those that wait already at the same store (or prefix).
void note_work(const StorePtr& store);

// Runs `body`. If communication fails in it, throws Error(kPeerLost) with "`what`: reason"; other exceptions
// are passed on. gloo throws plain std::runtime_error (gloo::IoException), and c10d its own c10::DistError
// family. Neither is the caller's fault, whereas LibTorch's other errors (c10::Error) are.
void with_peer_errors(const std::string& what, const std::function<void()>& body);

}  // namespace dtrain
