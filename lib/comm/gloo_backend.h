// c10d's gloo backend, as an interface that does without gloo's headers.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "comm/process_group.h"

namespace dtrain {

struct GlooBackend {
  c10::intrusive_ptr<c10d::Backend> backend;
  std::vector<int> sockets;  // those of this process that are part of it
};

// Connects all `size` ranks that meet at `store`, each through the `network` of its own host. Throws
// what with_peer_errors() (store/peer_errors.h) takes for a lost peer when one does not come within
// `timeout`.
GlooBackend make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                              std::chrono::milliseconds timeout, const GroupNetwork& network);

}  // namespace dtrain
