// Two processes that send tensors to each other, over a gloo group of just those two: when one of them dies,
// nobody else's communication fails.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "comm/process_group.h"
#include "comm/traffic.h"
#include "store/store.h"

namespace dtrain {

// Tensors (contiguous, on the CPU) arrive in the order in which they were sent; the receiver knows the size
// of each. Failures are Error(kPeerLost) that names the peer: it died (noticed within some 30 ms), or it did
// not answer in time. After one the channel is of no use, since gloo closes all of a group at a timeout.
class PairChannel {
 public:
  // Meets the other side, 1 - `side`, which has to come to the same keys of `store` within `timeout`; that is
  // also how long send() and receive() wait. `peer`: its name, for messages.
  PairChannel(const StorePtr& store, int side, std::chrono::milliseconds timeout, std::string peer,
              const GroupNetwork& network = {});
  PairChannel(const PairChannel&) = delete;
  PairChannel& operator=(const PairChannel&) = delete;

  // Returns when the peer has asked for the tensor and the kernel has taken it.
  void send(const at::Tensor& tensor);
  void receive(at::Tensor& tensor);
  // Waits however long it takes. Returns false, with nothing received, when interrupt() was called.
  bool await(at::Tensor& tensor);
  // From another thread: an await() that waits returns, and so does every later one.
  void interrupt();

  const std::string& peer() const { return peer_; }
  Traffic traffic() const { return traffic_of(sockets_); }  // so far

 private:
  c10::intrusive_ptr<c10d::Work> start_receiving(at::Tensor& tensor);

  int other_;
  std::chrono::milliseconds timeout_;
  std::string peer_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::vector<int> sockets_;
  std::mutex mutex_;                         // guards what follows
  c10::intrusive_ptr<c10d::Work> awaiting_;  // nullptr while no await() waits
  bool interrupted_ = false;
};

}  // namespace dtrain
