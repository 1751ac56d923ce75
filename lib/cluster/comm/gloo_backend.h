// c10d's gloo backend, behind an interface that does not need gloo's headers.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "comm/process_group.h"

namespace dtrain {

struct GlooBackend {
  c10::intrusive_ptr<c10d::Backend> backend;
  std::vector<int> sockets;  // this process's sockets that belong to the backend
};

// Connects all `size` ranks through `store`, each over the `network` of its own host. If a rank does not
// connect within `timeout`, throws an exception that with_peer_errors() (store/peer_errors.h) treats as a
// lost peer.
GlooBackend make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                              std::chrono::milliseconds timeout, const GroupNetwork& network);

}  // namespace dtrain
