// The only file that touches gloo's types. Debian's gloo headers work with the gloo inside LibTorch as long
// as only pointers to its types are exchanged, so this file does no more than construct ProcessGroupGloo.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sched.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "comm/gloo_group.h"
#include "core/error.h"
#include "core/sockets.h"
#include "store/socket_filter.h"
#include "store/store.h"

namespace dtrain {
namespace {

constexpr int kExchangeTag = 0;
constexpr int kAtOnce = 2;                            // buckets: one sends while the other waits for its peer
constexpr size_t kBroadcastBytes = size_t{64} << 20;  // small tensors up to this total are sent as one

// Turns off c10d's record of every collective, which is meant for a post-mortem and which dtrain does not
// read. Set before main(), because changing the environment later is a race.
[[maybe_unused]] const int no_flight_recorder = ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/0);

// The cores that this process may use, before replicas divide them (keep_to_own_cores()).
const std::optional<cpu_set_t> kCoresAtStart = [] {
  cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::optional<cpu_set_t>(cores) : std::nullopt;
}();

// Threads that this one starts while this exists may use other cores than it. Gloo has a thread that looks
// after sockets again and again without a pause while another one, which works on them, holds its lock: one
// that serves collectives, or the replica itself, which computes on its own cores. If the first one takes the
// core of the other, both wait for the kernel's next tick, which may take 4 ms.
class OnCores {
 public:
  enum Which { kAll, kAllButOwn };  // the second one where there are others
  explicit OnCores(Which which) : known_(kCoresAtStart && ::sched_getaffinity(0, sizeof own_, &own_) == 0) {
    if (!known_) return;
    cpu_set_t cores = *kCoresAtStart;
    for (int core = 0; which == kAllButOwn && core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &own_)) CPU_CLR(core, &cores);
    }
    if (CPU_COUNT(&cores) == 0) cores = *kCoresAtStart;
    ::sched_setaffinity(0, sizeof cores, &cores);  // if it fails, it is slower
  }
  ~OnCores() {
    if (known_) ::sched_setaffinity(0, sizeof own_, &own_);
  }
  OnCores(OnCores&&) = delete;  // nor copied

 private:
  cpu_set_t own_;
  bool known_;
};

}  // namespace

GlooGroup::~GlooGroup() {
  const bool failing = std::uncaught_exceptions() > 0;
  try {
    for (const c10::Device& device : group_->getDeviceTypes()) {
      if (device.is_cpu()) continue;
      const auto backend = group_->getBackend(device.type());
      // Gloo shuts down by itself. NCCL would abort too, but warn that the caller should have done so.
      if (failing || backend != group_->getBackend(c10::DeviceType::CPU)) backend->abort();
    }
  } catch (const std::exception&) {  // the error being handled says more
  }
}

void GlooGroup::all_reduce_sum(at::Tensor& tensor) {
  run("all-reduce", [&] {
    std::vector<at::Tensor> tensors = {tensor};
    group_->allreduce(tensors)->wait();
  });
}

void GlooGroup::broadcast(const std::vector<at::Tensor>& tensors, int root) {
  run("broadcast", [&] { c10d::broadcast_coalesced(group_, tensors, kBroadcastBytes, root); });
}

void GlooGroup::barrier() {
  // Not ProcessGroup::barrier: it assigns to a static tensor, on which groups on several threads would race.
  run("barrier", [&] { group_->getBackend(c10::DeviceType::CPU)->barrier()->wait(); });
}

void GlooGroup::exchange(const at::Tensor& sent, const std::vector<int64_t>& sent_bytes,
                         const at::Tensor& received, const std::vector<int64_t>& received_bytes) {
  run("exchanging gradients", [&] {
    for (const auto& transfer :
         start_exchange(sent.split_with_sizes(sent_bytes), received.split_with_sizes(received_bytes)))
      transfer->wait();
  });
}

void GlooGroup::gather(const at::Tensor& own, const at::Tensor& all) {
  run("gathering gradients", [&] {
    const std::vector<at::Tensor> sent(static_cast<size_t>(size_), own);
    for (const auto& transfer : start_exchange(sent, all.view({size_, -1}).unbind())) transfer->wait();
  });
}

// A peer begins to send when it has been asked (NOTIFY_RECV_READY, gloo/transport/tcp/pair.cc). What asks it
// must not wait behind what this rank sends: then only one of the two would send at a time, as in c10d's
// alltoall and allgather, which send first.
GlooGroup::Transfers GlooGroup::start_exchange(const std::vector<at::Tensor>& sent,
                                               const std::vector<at::Tensor>& received) {
  const auto backend = group_->getBackend(c10::DeviceType::CPU);
  Transfers transfers;
  for (const bool receives : {true, false}) {
    for (int i = 1; i < size_; ++i) {
      const int other = (rank_ + (receives ? size_ - i : i)) % size_;
      std::vector<at::Tensor> one = {(receives ? received : sent)[static_cast<size_t>(other)]};
      if (one[0].numel() == 0) continue;
      transfers.push_back(receives ? backend->recv(one, other, kExchangeTag)
                                   : backend->send(one, other, kExchangeTag));
    }
  }
  const auto own = static_cast<size_t>(rank_);
  if (received[own].data_ptr() != sent[own].data_ptr()) received[own].copy_(sent[own]);
  return transfers;
}

std::unique_ptr<GradientReducer> GlooGroup::make_gradient_reducer(const std::vector<at::Tensor>& parameters,
                                                                  const ReducerOptions& options,
                                                                  StepClock& clock) {
  if (options.placement != Placement::kCopies) throw Error(ExitCode::kBug, "gloo does not share variables");
  if (options.virtual_replicas > 0 || options.shard_hosts) {
    ReducerOptions of_each = options;
    of_each.hosts = {size_, rank_, this};
    alone_.set_on_wait([this] { notify_wait(); });
    return alone_.make_gradient_reducer(parameters, of_each, clock);
  }
  return make_overlapped_reducer({*this, alone_, group_}, parameters, options);
}

void GlooGroup::run(const char* what, const std::function<void()>& body) {
  notify_wait();
  with_peer_errors(what, body);
}

GlooBackend make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                              std::chrono::milliseconds timeout, const GroupNetwork& network, int at_once) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->threads = at_once;
  // Of what keeps it from joining the replicas of one host, gloo speaks as of a bug.
  if (!network.spans_hosts()) require_own_address(network.address);
  const auto open_device = [&] {
    const OnCores cores(OnCores::kAllButOwn);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(network.address));
  };
  // A gloo device listens, and believes any connection that names a peer's number. It checks nothing else.
  for (const int socket : sockets_opened_by(open_device)) {
    if (!network.members.empty() && is_listening(socket)) admit_only(socket, network.members);
  }
  GlooBackend result;
  try {
    result.sockets = sockets_opened_by([&] {
      const OnCores cores(OnCores::kAll);
      result.backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, std::move(options));
    });
  } catch (const c10::DistError&) {
    throw;
  } catch (const c10::Error& error) {
    // c10d wraps the errors that gloo throws while connecting into one that looks like a bug in this program.
    const std::string text = error.what_without_backtrace(), wrapping = " failed with ";
    const size_t found = text.find(wrapping);
    throw std::runtime_error(found == std::string::npos ? text : text.substr(found + wrapping.size()));
  }
  return result;
}

std::unique_ptr<GlooGroup> make_gloo_group(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                           std::chrono::milliseconds timeout, const GroupNetwork& network,
                                           const DeviceTensors& device) {
  using Kind = c10d::ProcessGroup::BackendType;
  std::unique_ptr<GlooGroup> result;
  with_peer_errors(fmt::format("rank {} meeting {} others", rank, size - 1), [&] {
    const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("gloo", store);
    auto [backend, sockets] = make_gloo_backend(prefixed, rank, size, timeout, network, kAtOnce);
    auto group = c10::make_intrusive<c10d::ProcessGroup>(prefixed, rank, size);
    group->setDefaultBackend(Kind::GLOO);
    group->setBackend(c10::DeviceType::CPU, Kind::GLOO, backend);
    if (device.accelerator != nullptr) {
      const auto of_device =
          device.nccl ? device.accelerator->make_backend(
                            c10::make_intrusive<c10d::PrefixStore>("nccl", store), rank, size, timeout)
                      : backend;
      group->setBackend(device.accelerator->device().type(), device.nccl ? Kind::NCCL : Kind::GLOO,
                        of_device);
    }
    result = std::make_unique<GlooGroup>(std::move(group), rank, size, std::move(sockets));
  });
  return result;
}

}  // namespace dtrain
