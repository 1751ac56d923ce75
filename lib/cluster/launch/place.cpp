#include "launch/place.h"

#include <fmt/format.h>

#include "core/environment.h"
#include "core/error.h"
#include "core/text.h"
#include "host/hosts.h"
#include "host/machine.h"

namespace dtrain {
namespace {

[[noreturn]] void contradiction(const std::string& one, const std::string& other, const std::string& advice) {
  throw Error(ExitCode::kUsage, "{}, but {}; {}", one, other, advice);
}

std::string described(const Identity& identity) {
  return fmt::format(
      "{} says that this is rank {} of {}",
      identity.source == "environment" ? "the environment (RANK, WORLD_SIZE)" : identity.source,
      identity.rank, identity.world_size);
}

// The launcher that started this very process. Launchers around it only start hosts; they matter only if one
// of them has numbered this process differently.
std::optional<Identity> find_replica(std::optional<int64_t> port) {
  const auto torchrun = identity_from_environment();
  if (torchrun && torchrun->source != "environment") return torchrun;
  const auto open_mpi = open_mpi_identity(port);
  const auto pmi = open_mpi ? std::nullopt : pmi_identity(port);
  const auto& mpi = open_mpi ? open_mpi : pmi;
  // mpirun and mpiexec start one process of their own per host by srun, whose numbers its children inherit.
  const auto slurm = mpi ? std::nullopt : slurm_identity(port);
  const auto& launched = mpi ? mpi : slurm;
  if (torchrun && launched &&
      (torchrun->rank != launched->rank || torchrun->world_size != launched->world_size))
    contradiction(
        described(*torchrun), described(*launched),
        fmt::format("unset {}, or {}", variables_of(torchrun->source), variables_of(launched->source)));
  return torchrun ? torchrun : launched;
}

std::optional<HostPlace> find_host(const std::vector<std::string>& hosts,
                                   const std::optional<HostPlace>& config, std::optional<int64_t> port) {
  if (config) {
    if (!hosts.empty() && hosts != config->hosts)
      contradiction(fmt::format("the spec has hosts: {}", join(hosts)),
                    fmt::format("TF_CONFIG has {}", join(config->hosts)), "take hosts out of the spec");
    if (port && *port != config->port)
      contradiction(fmt::format("the spec has network.port: {}", *port),
                    fmt::format("TF_CONFIG gives {} to {}", config->port, config->hosts.front()),
                    "take network.port out of the spec");
    return config;
  }
  if (hosts.size() < 2) return std::nullopt;
  const auto index = environment_number("DTRAIN_HOST_INDEX", 0, static_cast<int64_t>(hosts.size()) - 1);
  const int own = index ? static_cast<int>(*index) : own_index(hosts, own_host_name(), own_addresses());
  return HostPlace{hosts, own, static_cast<uint16_t>(port.value_or(kDefaultPort))};
}

// Checks that the spec has as many hosts as the launcher started processes on.
void check_hosts(const std::vector<std::string>& hosts, const Identity& identity) {
  if (hosts.empty() || identity.world_size % identity.local_world_size != 0) return;
  const int64_t started = identity.world_size / identity.local_world_size;
  if (started == std::ssize(hosts)) return;
  contradiction(fmt::format("the spec lists {} ({})", counted(std::ssize(hosts), "host"), join(hosts)),
                fmt::format("{} started {} processes, {} of them on this host, so {}", identity.source,
                            identity.world_size, identity.local_world_size, counted(started, "host")),
                "start as many, or take hosts out of the spec");
}

}  // namespace

std::string variables_of(const std::string& source) {
  if (source == "Open MPI") return "OMPI_COMM_WORLD_RANK and PMIX_RANK";
  if (source == "PMI") return "PMI_RANK";
  if (source == "Slurm") return "SLURM_STEP_ID";
  return "RANK and WORLD_SIZE";
}

std::string advice_on_leftovers(const Identity& replica) {
  return fmt::format("if {} is not to start the replicas, unset {}",
                     replica.source == "environment" ? "a launcher" : replica.source,
                     variables_of(replica.source));
}

Place find_place(const std::vector<std::string>& hosts, std::optional<int64_t> port, bool evenly) {
  const auto replica = find_replica(port);
  const auto config = tf_config_from_environment();
  if (replica && config)
    contradiction("TF_CONFIG is set", described(*replica), "unset TF_CONFIG, or start without that launcher");
  if (replica) {
    if (evenly) check_hosts(hosts, *replica);
    return {replica, std::nullopt, replica->source};
  }
  Place place;
  place.host = find_host(hosts, config, port);
  if (place.host) place.source = config ? "TF_CONFIG" : "hosts";
  if (place.host && place.host->hosts.size() < 2) place.host = std::nullopt;  // a cluster with one host
  return place;
}

void require_alone(const std::string& what, const std::vector<std::string>& hosts) {
  const Place place = find_place(hosts, std::nullopt);
  if (!place.replica && !place.host) return;
  const std::string source = place.source == "environment" ? "a launcher" : place.source;
  throw Error(ExitCode::kUsage, "{} starts its own processes, on this host: run it without {}{}", what,
              source, place.replica ? "; " + advice_on_leftovers(*place.replica) : "");
}

}  // namespace dtrain
