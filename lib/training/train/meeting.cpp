#include "train/meeting.h"

#include <fmt/format.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/clock.h"
#include "core/text.h"
#include "core/version.h"
#include "host/hosts.h"
#include "host/machine.h"
#include "job_file/print.h"
#include "rendezvous/leader_address.h"
#include "store/local_store.h"

namespace dtrain {
namespace {

constexpr size_t kMostAddresses = 60;
const char* const kComplete = "complete";
const char* const kEveryoneKnows = "everyone knows";

// As YAML, without what may well differ between hosts.
std::string comparable(JobSpec spec, bool resumes) {
  spec.data.path = std::nullopt;
  spec.model.file = std::nullopt;  // model.sha256 is compared
  spec.plugins.clear();            // plugin_versions are
  spec.data.stream = DataSpec().stream;
  spec.data.cache = DataSpec().cache;
  spec.data.cache_gigabytes = DataSpec().cache_gigabytes;
  spec.network.interface = std::nullopt;
  spec.strategy.threads_per_replica = std::nullopt;
  return print_spec(spec) + (resumes ? "--resume\n" : "");
}

// A launcher that restarts its processes keeps its store: what an earlier attempt wrote must not be read.
std::string endpoint_key() {
  const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return fmt::format("dtrain/{}/rendezvous", attempt == nullptr ? "0" : attempt);
}

Range only(const Identity& identity) { return {identity.rank, identity.rank + 1}; }

// From the number of each rank's host.
void set_host(Identity& identity, const std::vector<int>& hosts) {
  identity.host = hosts.at(static_cast<size_t>(identity.rank));
  identity.hosts = 1 + *std::ranges::max_element(hosts);
  identity.host_by_host = are_host_by_host(hosts);
}

// Serves a store to this host or to the members, and says in `welcome` where it is.
StorePtr serve_store(const Identity& identity, std::chrono::milliseconds timeout, nlohmann::json& welcome) {
  if (!identity.spans_hosts()) {
    const HostedLocalStore hosted = host_local_store(timeout);
    welcome["store"] = hosted.name;
    return hosted.store;
  }
  const HostedStore hosted = host_store(identity.own_address, 0, timeout);
  hosted.admit(identity.members);
  welcome["address"] = identity.own_address;
  welcome["port"] = hosted.port;
  return hosted.store;
}

// Rank 0's part.
StorePtr lead_replicas(const JobPlan& job, Identity& identity, const MeetingOptions& options) {
  const JobSpec& spec = job.spec;
  if (identity.spans_hosts())
    identity.own_address = leader_address(spec.network.interface, identity.master_address, true);
  const std::string& address = identity.own_address;
  Rendezvous rendezvous = open_rendezvous(address, identity.agent_store ? 0 : identity.master_port, options);
  if (identity.agent_store) {
    connect_store(identity.master_address, identity.master_port, rendezvous_timeout(spec))
        ->set(endpoint_key(), fmt::format("{} {}", address, rendezvous.port()));
  }
  StorePtr store;
  rendezvous.gather(
      member_of(job, only(identity), own_host_name(), address, options), rendezvous_options(spec, options),
      [](int64_t) { return ""; },
      [&](const std::vector<Member>& members) {
        if (!options.complete.empty()) throw Error(ExitCode::kDone, options.complete);
        if (identity.spans_hosts()) identity.members = addresses_of(members);
        const std::vector<int> hosts = hosts_of_ranks(members);
        set_host(identity, hosts);
        nlohmann::json welcome{{"members", identity.members}, {"hosts", hosts}};
        store = serve_store(identity, rendezvous_timeout(spec), welcome);
        return welcome;
      });
  return store;
}

struct Endpoint {
  std::string host;
  uint16_t port;
};

// Returns once rank 0 has told the store of the launcher's agent where it listens.
void await_endpoint(const StorePtr& agent, const Identity& identity, const RendezvousOptions& options) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  const double deadline = steady_seconds() + options.timeout_seconds;
  WaitingNotice notice(options);
  while (!agent->check({endpoint_key()})) {
    if (stop_signals_received() > options.stop_signals_before)
      throw Error(ExitCode::kStopped, "stopped while waiting for rank 0");
    if (steady_seconds() >= deadline)
      throw Error(ExitCode::kPeerLost, "rank 0 did not say within {} where it listens",
                  human_duration(options.timeout_seconds));
    notice.look_at_clock([&] {
      return fmt::format("rank 0, which has not told the store at {}:{} where it listens",
                         identity.master_address, identity.master_port);
    });
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// Where rank 0 listens: the launcher told, or rank 0 does by the store of the launcher's agent.
Endpoint find_leader(const JobSpec& spec, const Identity& identity, const MeetingOptions& options) {
  if (!identity.agent_store)
    return {identity.spans_hosts() ? leader_to_join(spec.network.interface, identity.master_address)
                                   : "127.0.0.1",
            identity.master_port};
  const StorePtr agent =
      connect_store(identity.master_address, identity.master_port, rendezvous_timeout(spec));
  Endpoint endpoint{"", 0};
  with_peer_errors("waiting at the launcher's store", [&] {
    await_endpoint(agent, identity, rendezvous_options(spec, options));
    const std::string text = agent->get_to_str(endpoint_key());
    const size_t blank = std::min(text.find(' '), text.size());
    endpoint.host = text.substr(0, blank);
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(std::min(text.data() + blank + 1, end), end, endpoint.port);
    if (error != std::errc() || stop != end)
      throw Error(ExitCode::kPeerLost,
                  "what the launcher's store has is no address of rank 0: " + printable(text));
  });
  return endpoint;
}

StorePtr join_replicas(const JobPlan& job, Identity& identity, const MeetingOptions& options) {
  const Endpoint leader = find_leader(job.spec, identity, options);
  const auto& interface = job.spec.network.interface;
  const std::string own = identity.spans_hosts() && interface ? address_of_interface(*interface) : "";
  const Joined joined =
      join_rendezvous(leader.host, leader.port, member_of(job, only(identity), own_host_name(), own, options),
                      rendezvous_options(job.spec, options));
  const auto welcome = nlohmann::json::parse(joined.welcome);
  if (identity.spans_hosts()) identity.own_address = own.empty() ? joined.own_address : own;
  identity.members = welcome.at("members").get<std::vector<std::string>>();
  set_host(identity, welcome.at("hosts").get<std::vector<int>>());
  const auto timeout = rendezvous_timeout(job.spec);
  if (welcome.contains("store")) return connect_local_store(welcome["store"].get<std::string>(), timeout);
  return connect_store(welcome.at("address").get<std::string>(), welcome.at("port").get<uint16_t>(), timeout);
}

}  // namespace

std::chrono::milliseconds rendezvous_timeout(const JobSpec& spec) {
  return to_milliseconds(spec.network.rendezvous_timeout_seconds);
}

RendezvousOptions rendezvous_options(const JobSpec& spec, const MeetingOptions& options) {
  return {.token = options.token,
          .timeout_seconds = spec.network.rendezvous_timeout_seconds,
          .silence_seconds = spec.strategy.timeout_seconds,
          .notice_seconds = options.notice_seconds,
          .notice = options.notice};
}

Member member_of(const JobPlan& job, const Range& ranks, const std::string& host,
                 const std::string& own_address, const MeetingOptions& options) {
  Member member;
  member.first_rank = ranks.begin;
  member.replicas = ranks.size();
  member.world_size = job.distributed_run().processes();
  member.host = host;
  member.process = ::getpid();
  if (!own_address.empty()) member.addresses.push_back(own_address);
  for (const std::string& address : own_addresses()) {
    // Loopback is no way from host to host, and "fe80::1%eth0" means something else on another one.
    if (!is_loopback(address) && is_host(address) && address != own_address &&
        member.addresses.size() < kMostAddresses)
      member.addresses.push_back(address);
  }
  member.spec = comparable(job.spec, options.resumes);
  member.data = fmt::format("{} ({})", job.data.name, fingerprint_of(job.data));
  member.communication = job.communication;
  member.version = kVersion;
  member.libtorch = TORCH_VERSION;
  member.machine = machine_id();
  return member;
}

Rendezvous open_rendezvous(const std::string& address, uint16_t port, const MeetingOptions& options) {
  Rendezvous rendezvous(address, port);
  if (options.token.empty() && !is_loopback(address))
    options.notice(
        fmt::format("no job token: any process that can reach {}:{} may join (DTRAIN_JOB_TOKEN on every "
                    "host, or scripts/launch_ssh, keeps strangers out)",
                    address, rendezvous.port()));
  return rendezvous;
}

void announce_completion(const StorePtr& store, int world_size, std::chrono::milliseconds timeout) {
  if (world_size == 1) return;
  try {
    set_key(store, kComplete);
    store->wait({kEveryoneKnows}, timeout);
  } catch (const std::exception&) {  // a replica died with its work done: nobody needs the store
  }
}

void await_completion(const StorePtr& store, int world_size) {
  try {
    wait_for_key(store, kComplete);
  } catch (const Error& error) {
    throw Error(error.code(),
                "rank 0 ended before it had said that the job is complete ({}); its own messages say why",
                error.what());
  }
  try {  // from here on all is well whatever happens to rank 0
    if (store->add("know", 1) == world_size - 1) set_key(store, kEveryoneKnows);
  } catch (const std::exception&) {
  }
}

StorePtr meet_replicas(const JobPlan& job, Identity& identity, const MeetingOptions& options) {
  return identity.rank == 0 ? lead_replicas(job, identity, options) : join_replicas(job, identity, options);
}

}  // namespace dtrain
