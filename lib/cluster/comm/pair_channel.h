// A channel on which two processes send tensors to each other. It is a gloo group of just these two, so that
// the death of one does not break the communication of any other process.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "comm/process_group.h"
#include "store/store.h"

namespace dtrain {

// Tensors (contiguous, on the CPU) arrive in the order in which they were sent; the receiver must know their
// sizes. Failures throw an Error(kPeerLost) that names the peer: it died (noticed within about 30 ms) or did
// not answer in time. After an error it is unusable: gloo closes all connections of a group at a timeout.
class PairChannel {
 public:
  // Connects to the other side, 1 - `side`, which must use the same keys of `store` within `timeout`. send()
  // and receive() have the same timeout. `peer` is the other side's name, for messages.
  PairChannel(const StorePtr& store, int side, std::chrono::milliseconds timeout, std::string peer,
              const GroupNetwork& network = {});

  // Returns when the peer has asked for the tensor and the kernel has accepted the data.
  void send(const at::Tensor& tensor);
  void receive(at::Tensor& tensor);
  // Waits without a time limit. Returns false, with nothing received, if interrupt() was called.
  bool await(at::Tensor& tensor);
  // Call from another thread: makes a waiting await() return, and every later one.
  void interrupt();

  const std::string& peer() const { return peer_; }
  const std::vector<int>& sockets() const { return sockets_; }

 private:
  c10::intrusive_ptr<c10d::Work> start_receiving(at::Tensor& tensor);

  int other_;
  std::chrono::milliseconds timeout_;
  std::string peer_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  std::vector<int> sockets_;
  std::mutex mutex_;                         // guards the members below
  c10::intrusive_ptr<c10d::Work> awaiting_;  // nullptr unless await() is waiting
  bool interrupted_ = false;
};

}  // namespace dtrain
