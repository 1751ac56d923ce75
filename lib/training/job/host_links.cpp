#include "job/host_links.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "core/clock.h"
#include "core/signals.h"
#include "core/text.h"
#include "host/hosts.h"
#include "job/host_lines.h"
#include "job/other_replicas.h"
#include "job/restarts.h"
#include "launch/identity.h"

namespace dtrain {
namespace {

using nlohmann::json;

constexpr double kEndSeconds = 5;      // for the others to end after a failure
constexpr double kVerdictSeconds = 8;  // for the leader to gather, after a failure here
constexpr double kNewsSeconds = 1.5;   // for a failure to show that explains a loss elsewhere

// Which of two results tells how the run ended: where somebody stopped it there is nothing else to find out.
std::pair<bool, Evidence> weight(const SuperviseResult& result) {
  return {result.code == ExitCode::kStopped, result.evidence};
}

SuperviseResult lost(int64_t rank, const std::string& reason, Evidence evidence) {
  SuperviseResult result;
  result.code = ExitCode::kPeerLost;
  result.first_failing_rank = static_cast<int>(rank);
  result.message = result.reason = reason;
  result.evidence = evidence;
  return result;
}

Range ranks_on(const JobPlan& job, const HostPlace& place, int64_t host) {
  return job.distributed_run().ranks_on(host, std::ssize(place.hosts));
}

int host_index_of_rank(const JobPlan& job, const HostPlace& place, int64_t rank) {
  int host = 0;
  while (rank >= ranks_on(job, place, host).end) ++host;
  return host;
}

std::string host_of_rank(const JobPlan& job, const HostPlace& place, int64_t rank) {
  return "host " + place.hosts[static_cast<size_t>(host_index_of_rank(job, place, rank))];
}

std::string names_on(const JobPlan& job, const Range& ranks) {
  const RunPlan& run = job.distributed_run();
  return names_of_ranks(ranks.begin, ranks.size(), run.replicas, run.servers);
}

// Whether the others go on without these: workers, but not the one that evaluates and reports.
bool are_expendable(const JobPlan& job, const Range& ranks) {
  const RunPlan& run = job.distributed_run();
  return run.is_asynchronous() && ranks.begin > 0 && ranks.end <= run.replicas;
}

Range ranks_of(const Member& member) { return {member.first_rank, member.first_rank + member.replicas}; }

// Whether some other host is not this very machine, as in a trial of several on one.
bool has_others_elsewhere(const HostPlace& place) {
  return !std::all_of(place.hosts.begin(), place.hosts.end(),
                      [](const std::string& host) { return host == "localhost" || is_loopback(host); });
}

// The replicas of host `place.index` in the distributed run, which meet at a store at `leader`:`port`.
std::vector<Identity> identities_on_host(const JobPlan& job, const HostPlace& place,
                                         const std::string& leader, uint16_t port,
                                         const std::string& own_address,
                                         const std::vector<std::string>& members) {
  const Range ranks = ranks_on(job, place, place.index);
  std::vector<Identity> identities(static_cast<size_t>(ranks.size()));
  for (Identity& identity : identities) {
    identity.local_rank = static_cast<int>(&identity - identities.data());
    identity.rank = static_cast<int>(ranks.begin) + identity.local_rank;
    identity.local_world_size = static_cast<int>(ranks.size());
    identity.world_size = static_cast<int>(job.distributed_run().processes());
    identity.host = place.index;
    identity.hosts = static_cast<int>(place.hosts.size());
    identity.master_address = leader;
    identity.master_port = port;
    identity.own_address = own_address;
    identity.members = members;
  }
  return identities;
}

// What this host, one of `place`, says of itself.
Member own_member(const JobPlan& job, const HostPlace& place, const JobHosts& hosts,
                  const std::string& address) {
  return member_of(job, ranks_on(job, place, place.index), hosts.own_name(), address, hosts.meeting);
}

// How long a host may be silent.
double patience(const JobPlan& job) { return job.spec.strategy.timeout_seconds; }

}  // namespace

LeadingHost::LeadingHost(const JobPlan& job, const JobHosts& hosts,
                         const std::function<std::string()>& make_folder)
    : job_(job),
      hosts_(hosts),
      place_(hosts.place),
      numbers_(place_.hosts.size()),
      address_(leader_address(job.spec, place_.hosts.front(), has_others_elsewhere(place_))) {
  std::iota(numbers_.begin(), numbers_.end(), 0);
  meet(rendezvous_options(job_.spec, hosts_.meeting), {}, make_folder);
}

// Nobody listens there in between: only who waits for others lets them in.
void LeadingHost::meet(const RendezvousOptions& options, const std::optional<std::vector<Member>>& present,
                       const std::function<std::string()>& make_folder) {
  const auto welcome = [&](const std::vector<Member>& all) {
    members_ = addresses_of(all);
    json text = {{"address", address_}, {"members", members_}};
    if (!folder_.empty()) text["again"] = true;
    if (folder_.empty()) folder_ = make_folder();
    text["folder"] = folder_;
    return text;
  };
  take_in(open_rendezvous(address_, place_.port, hosts_.meeting)
              .gather(
                  own_member(job_, place_, hosts_, address_), options,
                  [&](int64_t rank) { return host_of_rank(job_, place_, rank); }, welcome, present));
}

void LeadingHost::take_in(std::vector<MemberLink> links) {
  for (MemberLink& link : links) {
    const int host = host_index_of_rank(job_, place_, link.member.first_rank);
    others_.push_back({std::move(link), numbers_[static_cast<size_t>(host)]});
  }
}

void LeadingHost::tell_all(const std::string& line) {
  for (OtherHost& host : others_) host.member.link.send(line);
}

std::vector<Identity> LeadingHost::start(int64_t restart, bool resume) {
  for (OtherHost& host : others_) host.end.reset();
  losses_.clear();
  restart_ = restart;
  store_ = host_store(address_, 0, rendezvous_timeout(job_.spec));
  store_.admit(members_);
  tell_all(line_of({{"start", store_.port},
                    {"restart", restart},
                    {"resume", resume},
                    {"members", members_},
                    {"hosts", numbers_}}));
  return identities_on_host(job_, place_, address_, store_.port, address_, members_);
}

std::optional<SuperviseResult> LeadingHost::stopped() {
  for (OtherHost& host : others_) {
    take_lines(host);
    host.gone = host.gone || host.member.link.closed();
    if (host.end && host.end->code == ExitCode::kStopped) return host.end;
  }
  return std::nullopt;
}

void LeadingHost::announce_restart() {
  stopped();  // who is gone meanwhile
  tell_all(line_of({{"again", true}}));
  others_.erase(
      std::remove_if(others_.begin(), others_.end(), [](const OtherHost& host) { return host.gone; }),
      others_.end());
}

void LeadingHost::meet_again(int stop_signals_before) {
  const auto require_not_stopped = [this] {
    if (const auto stop = stopped()) throw Error(ExitCode::kStopped, stop->message);
  };
  require_not_stopped();
  if (others_.size() + 1 == numbers_.size()) return;
  hosts_.meeting.notice(fmt::format("waiting up to {} for the hosts that are gone; start dtrain there again",
                                    human_duration(job_.spec.network.rendezvous_timeout_seconds)));
  RendezvousOptions options = rendezvous_options(job_.spec, hosts_.meeting);
  options.stop_signals_before = stop_signals_before;
  std::vector<Member> present;
  for (const OtherHost& host : others_) present.push_back(host.member.member);
  try {
    if (numbers_.size() < hosts_.place.hosts.size())  // who comes back now comes with the plan of before
      throw Error(ExitCode::kPeerLost, "another host was lost after the job went on with fewer");
    meet(options, present, {});
  } catch (const Error& error) {
    if (error.code() != ExitCode::kPeerLost) throw;
    go_on_with_those_here(error);
  }
  require_not_stopped();
}

void LeadingHost::go_on_with_those_here(const Error& why) {
  HostPlace left = place_;
  left.hosts = {hosts_.place.hosts.front()};
  std::vector<int> numbers = {0};
  for (const OtherHost& host : others_) numbers.push_back(host.number);
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 1; i < numbers.size(); ++i)
    left.hosts.push_back(hosts_.place.hosts[static_cast<size_t>(numbers[i])]);
  JobPlan fewer;
  try {
    fewer = with_fewer_hosts(job_, left.hosts, place_.hosts.size());
  } catch (const Error& refusal) {
    throw Error(ExitCode::kPeerLost, "{}\n{}", why.what(), refusal.what());
  }
  const RunPlan& run = fewer.distributed_run();
  const BatchPlan& batch = run.batch;
  hosts_.meeting.notice(
      fmt::format("going on with {} on {}; the global batch stays {}: {} x {} x {} micro-batch{}",
                  counted(run.replicas, "replica"), join(left.hosts), batch.global, batch.per_replica,
                  counted(batch.parts, run.virtual_replicas > 0 ? "virtual replica" : "replica"),
                  batch.accumulate_steps, batch.accumulate_steps == 1 ? "" : "es"));
  job_ = std::move(fewer);
  place_ = std::move(left);
  numbers_ = std::move(numbers);
  std::vector<Member> all = {own_member(job_, place_, hosts_, address_)};
  for (OtherHost& host : others_) {
    const auto index = std::find(numbers_.begin(), numbers_.end(), host.number) - numbers_.begin();
    Member& member = host.member.member;
    member.first_rank = ranks_on(job_, place_, index).begin;
    member.world_size = job_.distributed_run().processes();
    all.push_back(member);
  }
  members_ = addresses_of(all);
}

void LeadingHost::take_lines(OtherHost& host) {
  for (const std::string& text : host.member.link.receive()) {
    const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
    take_end(line, restart_, host.end);
    if (const auto lost = loss_from(line)) losses_.push_back({*lost, steady_seconds()});
  }
  if (!host.end && host.member.link.closed())
    take_end_of_link(host, "is gone: its dtrain was killed, or the connection to it broke",
                     Evidence::kFailedItself);
}

// A host with nothing but workers that the others can do without just costs these.
void LeadingHost::take_end_of_link(OtherHost& host, const std::string& reason, Evidence evidence) {
  const Member& member = host.member.member;
  const Range ranks = ranks_of(member);
  host.gone = true;
  if (!are_expendable(job_, ranks)) {
    host.end =
        lost(ranks.begin, fmt::format("{} with {} {}", member.described(), names_on(job_, ranks), reason),
             evidence);
    return;
  }
  host.end = SuperviseResult();
  LostReplica worker;
  worker.reason = member.described() + " " + reason;
  for (int64_t rank = ranks.begin; rank < ranks.end; ++rank) {
    worker.rank = static_cast<int>(rank);
    losses_.push_back({worker, steady_seconds()});
  }
}

void LeadingHost::tell_losses(double age) {
  const double before = steady_seconds() - age;
  for (const Loss& loss : losses_) {
    if (loss.noticed <= before) on_lost_(loss.replica);
  }
  losses_.erase(std::remove_if(losses_.begin(), losses_.end(),
                               [&](const Loss& loss) { return loss.noticed <= before; }),
                losses_.end());
}

std::optional<SuperviseResult> LeadingHost::interrupted() {
  std::optional<SuperviseResult> failure;
  for (OtherHost& host : others_) {
    take_lines(host);
    if (!host.end || host.end->code == ExitCode::kDone) continue;
    if (!failure || weight(*host.end) > weight(*failure)) failure = host.end;
  }
  if (!failure) tell_losses(kNewsSeconds);
  return failure;
}

void LeadingHost::wait_for_lines() const {
  std::vector<pollfd> watched;
  for (const OtherHost& host : others_) {
    if (!host.end) watched.push_back({host.member.link.descriptor(), POLLIN, 0});
  }
  ::poll(watched.data(), watched.size(), kLinkLookMilliseconds);
}

bool LeadingHost::all_ended() const {
  return std::all_of(others_.begin(), others_.end(),
                     [](const OtherHost& host) { return host.end.has_value(); });
}

SuperviseResult LeadingHost::gather(const SuperviseResult& own) {
  const int stops = stop_signals_received();
  double deadline = steady_seconds() + patience(job_);
  bool ending = false;
  std::optional<SuperviseResult> failure = interrupted();
  while (!all_ended() && steady_seconds() < deadline && stop_signals_received() == stops) {
    if (!ending && (failure || own.code != ExitCode::kDone)) {
      ending = true;
      deadline = steady_seconds() + kEndSeconds;
      tell_all(line_of({{"stop", true}}));
    }
    wait_for_lines();
    failure = interrupted();
  }
  for (OtherHost& host : others_) {  // everybody else lost a peer, and nothing was heard from this one
    if (host.end || stop_signals_received() > stops) continue;
    host.gone = true;
    if (failure && failure->evidence >= Evidence::kWasSilent) continue;
    take_end_of_link(host, "was not heard of any more: it stands still, or the connection to it is cut",
                     Evidence::kWasSilent);
    if (host.end->code != ExitCode::kDone) failure = host.end;
  }
  if (!failure && own.code == ExitCode::kDone) {
    if (!all_ended()) return stopped_by_signal(last_stop_signal(), hosts_.own_name());
    tell_losses(0);
  }
  const bool is_own = own.code != ExitCode::kDone && (!failure || weight(own) >= weight(*failure));
  return is_own || !failure ? own : *failure;
}

void LeadingHost::dismiss(const SuperviseResult& result) { tell_all(line_of({{"over", result}})); }

FollowingHost::FollowingHost(const JobPlan& job, const JobHosts& hosts)
    : job_(job),
      hosts_(hosts),
      place_(hosts.place),
      own_address_(job.spec.network.interface ? address_of_interface(*job.spec.network.interface) : ""),
      joined_(join_rendezvous(place_.hosts.front(), place_.port,
                              own_member(job_, place_, hosts, own_address_),
                              rendezvous_options(job.spec, hosts.meeting))) {
  if (own_address_.empty()) own_address_ = joined_.own_address;
  const json welcome = json::parse(joined_.welcome);
  leader_address_ = welcome.at("address").get<std::string>();
  members_ = welcome.at("members").get<std::vector<std::string>>();
  folder_ = welcome.at("folder").get<std::string>();
  comes_back_ = welcome.contains("again");
  // It becomes part of a path.
  if (folder_.empty() || folder_[0] == '.' || folder_.find('/') != std::string::npos) folder_ = "run";
}

void FollowingHost::take_line(const std::string& text) {
  const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) return;
  stopped_ = stopped_ || line.contains("stop");
  again_ = again_ || line.contains("again");
  if (!over_) over_ = result_from(line, "over");
  if (!line.contains("start")) return;
  try {
    members_ = line.at("members").get<std::vector<std::string>>();
    restart_ = line.at("restart").get<int64_t>();
    go_on_with(line.at("hosts").get<std::vector<int>>());
    start_ = {identities_on_host(job_, place_, leader_address_, line.at("start").get<uint16_t>(),
                                 own_address_, members_),
              *restart_, line.at("resume").get<bool>()};
  } catch (const json::exception& error) {
    throw Error(ExitCode::kPeerLost,
                "the first host says what this version of dtrain does not understand: {}", error.what());
  }
}

void FollowingHost::go_on_with(const std::vector<int>& numbers) {
  if (numbers.size() >= place_.hosts.size()) return;
  HostPlace left = hosts_.place;
  left.hosts.clear();
  for (const int number : numbers) {
    if (number == hosts_.place.index) left.index = static_cast<int>(left.hosts.size());
    left.hosts.push_back(hosts_.place.hosts.at(static_cast<size_t>(number)));
  }
  job_ = with_fewer_hosts(job_, left.hosts, place_.hosts.size());
  place_ = std::move(left);
}

SuperviseResult FollowingHost::leader_is_gone() const {
  return lost(
      0,
      fmt::format("host {}, which leads, with {} is gone: its dtrain was killed, or the connection to "
                  "it broke",
                  place_.hosts.front(), names_on(job_, ranks_on(job_, place_, 0))),
      Evidence::kFailedItself);
}

std::optional<HostStart> FollowingHost::wait_for_start(int stop_signals_before) {
  constexpr double kSeconds = 1;
  while (!start_ && !over_ && !stopped_ && stop_signals_received() == stop_signals_before) {
    if (const auto line = joined_.link.next(kSeconds)) {
      take_line(*line);
    } else if (joined_.link.closed()) {
      over_ = leader_is_gone();
    }
  }
  if (!start_ || over_ || stopped_) return std::nullopt;
  return std::exchange(start_, std::nullopt);
}

std::optional<SuperviseResult> FollowingHost::interrupted() {
  for (const std::string& line : joined_.link.receive()) take_line(line);
  if (!over_ && joined_.link.closed()) over_ = leader_is_gone();
  if (over_ || !stopped_) return over_;
  return lost(-1, fmt::format("host {} ended the job", place_.hosts.front()), Evidence::kBlamesPeers);
}

void FollowingHost::tell_loss(const LostReplica& lost) { joined_.link.send(line_of({{"lost", lost}})); }

std::optional<SuperviseResult> FollowingHost::report(const SuperviseResult& own) {
  const int stops = stop_signals_received();
  joined_.link.send(line_of(end_line(own, restart_)));
  // After a failure the leader may wait for a third host before it says whether the run begins again.
  const bool waits = own.code == ExitCode::kDone || most_restarts(job_, job_.distributed_run()) > 0;
  const double seconds = waits ? patience(job_) + kVerdictSeconds : kVerdictSeconds;
  const double deadline = steady_seconds() + seconds;
  while (!over_ && !again_ && !joined_.link.closed() && stop_signals_received() == stops &&
         steady_seconds() < deadline) {
    if (const auto line = joined_.link.next(deadline - steady_seconds())) take_line(*line);
  }
  if (over_) return over_;
  if (again_) {
    again_ = stopped_ = false;
    return std::nullopt;
  }
  if (stop_signals_received() > stops) {
    const SuperviseResult stopped = stopped_by_signal(last_stop_signal(), hosts_.own_name());
    joined_.link.send(line_of(end_line(stopped, restart_)));
    return stopped;
  }
  return own.evidence == Evidence::kFailedItself ? own : leader_is_gone();
}

}  // namespace dtrain
