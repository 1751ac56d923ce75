#include "train/replica_groups.h"

#include <fmt/format.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "core/clock.h"
#include "host/hosts.h"
#include "train/meeting.h"

namespace dtrain {
namespace {

// NCCL would listen on any interface; a choice that the user has made stays.
void keep_nccl_to(const std::string& address) {
  const std::string interface = interface_of_address(address);
  if (!interface.empty()) ::setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), /*overwrite=*/0);
}

}  // namespace

GroupNetwork network_of(const Identity& identity) {
  GroupNetwork network{identity.own_address, identity.members,    identity.host,
                       identity.hosts,       identity.local_rank, identity.local_world_size};
  // Ranks in no order (mpirun --map-by node) form a group as if each had a host of its own.
  if (!identity.host_by_host) network.local_rank = 0, network.local_size = 1;
  return network;
}

ReplicaGroups::ReplicaGroups(const ReplicaContext& context, std::shared_ptr<Accelerator> accelerator)
    : context_(context), accelerator_(std::move(accelerator)) {}

std::unique_ptr<ProcessGroup> ReplicaGroups::make_group() {
  const JobSpec& spec = context_.job.spec;
  const GroupNetwork network = network_of(context_.identity);
  const auto keys = c10::make_intrusive<c10d::PrefixStore>(
      fmt::format("{}/generation {}", context_.run.name(), ++generation_), context_.store);
  const auto replicas = static_cast<int>(size());
  const int rank = context_.identity.rank;
  const std::string& communication = context_.job.communication;
  if (communication == "nccl" && replicas > 1) keep_nccl_to(network.address);
  if (network.spans_hosts() && replicas > 1)  // some may load data from a slower disk
    wait_for_ranks(keys, rank, replicas, rendezvous_timeout(spec));
  return dtrain::make_group(communication, keys, rank, replicas,
                            to_milliseconds(spec.strategy.timeout_seconds), network, accelerator_.get());
}

}  // namespace dtrain
