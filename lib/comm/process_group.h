// Replicas that work together: our own small view of a process group, over c10d or alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/traffic.h"
#include "core/phase_clock.h"
#include "device/accelerator.h"

namespace dtrain {

struct ReducerOptions {
  int64_t bucket_bytes = 25 << 20;  // how much is sent at once while backward still runs
  // kShared moves the parameters of all ranks into one memory, with the values of rank 0; only a group of one
  // and one over shared memory can (Error(kBug) otherwise: specs are checked before).
  Placement placement = Placement::kCopies;
  // What gradients are converted to for their way between hosts (or through gloo); nullopt: nothing.
  std::optional<at::ScalarType> wire_type = {};
};

// Every call is collective: all ranks make the same calls in the same order with tensors of the same shapes
// and types. A peer that died, or that does not answer within the group's timeout, is an Error(kPeerLost).
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Replaces `tensor` (contiguous) by its sum over the ranks; all ranks get the same bits.
  virtual void all_reduce_sum(at::Tensor& tensor) = 0;
  // Copies the tensors of rank `root` into those of every rank.
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int root) = 0;
  // Returns when every rank has called it.
  virtual void barrier() = 0;

  // The part that sums the gradients of `parameters` (contiguous leaves) over this group, as fast as the
  // group knows how. The group and the clock must outlive it.
  virtual std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                                 const ReducerOptions& options,
                                                                 PhaseClock& clock) = 0;

  // What this rank has sent and received through sockets so far; of the ranks of a host, the one that speaks
  // for them all.
  virtual Traffic traffic() const { return {}; }

  // Called when this rank is about to wait for others (a status board shows it).
  void set_on_wait(std::function<void()> on_wait) { on_wait_ = std::move(on_wait); }

 protected:
  void notify_wait() const {
    if (on_wait_) on_wait_();
  }

 private:
  std::function<void()> on_wait_;
};

// A group of one, whose collectives have nothing to do.
std::unique_ptr<ProcessGroup> make_single_group();

// Where a rank stands among the hosts of its group, and where its sockets are.
struct GroupNetwork {
  std::string address = "127.0.0.1";      // of this host: what they are bound to
  std::vector<std::string> members = {};  // the addresses of all hosts, who alone may connect; empty: anybody
  int host = 0;                           // the number of this host
  int hosts = 1;
  int local_rank = 0;  // among the `local_size` ranks of this host; of use where there are more hosts
  int local_size = 1;

  bool spans_hosts() const { return hosts > 1; }
};

// Ranks of one host, over memory that they share (CPU tensors only): no copy through a socket, and a peer
// that dies is noticed within 100 ms. Returns when all `size` ranks have met at `store`, or throws
// Error(kPeerLost) after `timeout`, which is also that of every later collective.
std::unique_ptr<ProcessGroup> make_shared_memory_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                       int size, std::chrono::milliseconds timeout);

// The group for a spec's strategy.communication: a group of one when `size` is 1, unless it is "nccl";
// otherwise "shared_memory", "gloo" or "nccl", and for "auto" shared memory on one host, gloo between several
// and shared memory inside each. `accelerator` is this rank's, null on the CPU. Throws Error(kUsage) for
// shared memory on several hosts, Error(kBug) for other words: specs are checked before.
std::unique_ptr<ProcessGroup> make_group(const std::string& communication,
                                         const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         std::chrono::milliseconds timeout, const GroupNetwork& network = {},
                                         Accelerator* accelerator = nullptr);

}  // namespace dtrain
