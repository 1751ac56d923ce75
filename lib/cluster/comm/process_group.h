// dtrain's own small interface to a process group, over c10d or for a single process.
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
#include "core/step_clock.h"
#include "device/accelerator.h"

namespace dtrain {

class GlooGroup;

// The hosts whose ranks sum their gradients together, for a reducer of the ranks of one of them.
struct ReducerHosts {
  int count = 1;
  int index = 0;               // of this host
  GlooGroup* group = nullptr;  // of the hosts; null on ranks that do not communicate for their host
};

struct ReducerOptions {
  int64_t bucket_bytes = 25 << 20;  // how many bytes are sent at once while backward still runs
  // kShared moves the parameters of all ranks into one shared memory, with the values of rank 0. Only a group
  // of one and a shared-memory group support it; others throw Error(kBug), because specs are checked before.
  Placement placement = Placement::kCopies;
  // The type to which gradients are converted for sending between hosts (or through gloo); nullopt: none.
  std::optional<at::ScalarType> wire_type = {};
  // How many virtual replicas the ranks of the job compute, in order, as evenly as possible
  // (comm/replica_tree.h); 0: each rank is one, and sums do not follow that tree.
  int64_t virtual_replicas = 0;
  int64_t row_numbers = 0;        // of each virtual replica (GradientReducer::rows())
  bool whole_parameters = false;  // where ranks divide the update, no parameter is; not with shard_hosts
  bool shard_hosts = false;       // divide the update among hosts too (make_host_sharded_reducer())
  ReducerHosts hosts = {};        // for virtual replicas and shard_hosts; groups set it themselves
};

// A group of one, whose collectives do nothing. Groups with several ranks derive from it.
//
// Every call is collective: all ranks make the same calls in the same order, with tensors of the same shapes
// and types. If a peer dies, or does not answer within the group's timeout, the call throws Error(kPeerLost).
class ProcessGroup {
 public:
  ProcessGroup() : ProcessGroup(0, 1) {}
  virtual ~ProcessGroup() = default;
  ProcessGroup(ProcessGroup&&) = delete;  // nor copied

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Replaces `tensor` (contiguous) by its sum over the ranks. All ranks get the same bits.
  virtual void all_reduce_sum(at::Tensor& /*tensor*/) {}
  // Copies the tensors of rank `root` into the tensors of every rank.
  virtual void broadcast(const std::vector<at::Tensor>& /*tensors*/, int /*root*/) {}
  // Returns when every rank has called it.
  virtual void barrier() {}
  // The ranks, perhaps this one alone, that share memory. A reducer divides the elements among them, or among
  // all ranks (ReducerOptions::shard_hosts).
  virtual ProcessGroup& inside() { return *this; }
  // The group of the hosts, one rank of each; null on ranks that do not communicate for their host.
  virtual ProcessGroup* between() { return this; }

  // Sends to each rank its part of `sent`, which has `sent_bytes` for each, and gets from each
  // `received_bytes` of `received`; parts are in the order of the ranks. Both are contiguous bytes. Only
  // groups that between() returns can do this.
  virtual void exchange(const at::Tensor& sent, const std::vector<int64_t>& sent_bytes,
                        const at::Tensor& received, const std::vector<int64_t>& received_bytes);
  // `all` gets the bytes of every rank, as many from each. Only groups that between() returns can do this.
  virtual void gather(const at::Tensor& own, const at::Tensor& all);

  // Makes the reducer that sums the gradients of `parameters` (contiguous leaves) over this group, in the
  // fastest way that the group has. The group and the clock must outlive it.
  virtual std::unique_ptr<GradientReducer> make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                                 const ReducerOptions& options,
                                                                 StepClock& clock);

  // This rank's connections to others, for comm/traffic.h. In a host with several ranks, only the rank that
  // communicates for the host has any.
  virtual std::vector<int> sockets() const { return {}; }

  // Sets a callback for when this rank is about to wait for others (the status board shows it).
  void set_on_wait(std::function<void()> on_wait) { on_wait_ = std::move(on_wait); }
  void notify_wait() const {
    if (on_wait_) on_wait_();
  }

 protected:
  // Of a group that has all its collectives.
  ProcessGroup(int rank, int size) : rank_(rank), size_(size) {}

  const int rank_, size_;

 private:
  std::function<void()> on_wait_;
};

inline std::unique_ptr<ProcessGroup> make_single_group() { return std::make_unique<ProcessGroup>(); }

// The position of a rank among the hosts of its group, and the addresses that its sockets use.
struct GroupNetwork {
  std::string address = "127.0.0.1";      // of this host; its sockets are bound to it
  std::vector<std::string> members = {};  // the addresses of all hosts; only they may connect (empty: anyone)
  int host = 0;                           // the index of this host
  int hosts = 1;
  int local_rank = 0;  // among the `local_size` ranks of this host; used if there are several hosts
  int local_size = 1;

  bool spans_hosts() const { return hosts > 1; }
};

// A group of ranks on one host that communicate through shared memory (CPU tensors only). No data is copied
// through a socket, and the death of a peer is noticed within 100 ms. Returns when all `size` ranks have met
// at `store`, or throws Error(kPeerLost) after `timeout`. Every later collective has the same timeout.
std::unique_ptr<ProcessGroup> make_shared_memory_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                       int size, std::chrono::milliseconds timeout);

// Makes the group for a spec's strategy.communication. If `size` is 1, this is a group of one. Otherwise
// "shared_memory", "gloo" and "nccl" make that kind of group; "auto" uses shared memory on one host, and gloo
// between several hosts with shared memory inside each. `accelerator` is this rank's; null on the CPU. Throws
// Error(kUsage) for shared memory on several hosts, Error(kBug) for other words: specs are checked before.
std::unique_ptr<ProcessGroup> make_group(const std::string& communication,
                                         const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                         std::chrono::milliseconds timeout, const GroupNetwork& network = {},
                                         Accelerator* accelerator = nullptr);

}  // namespace dtrain
