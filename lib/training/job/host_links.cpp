#include "job/host_links.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/clock.h"
#include "core/exit_codes.h"
#include "core/signals.h"
#include "core/text.h"
#include "host/hosts.h"
#include "job/other_replicas.h"
#include "job/replica_process.h"
#include "job/restarts.h"
#include "launch/identity.h"
#include "rendezvous/leader_address.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

using nlohmann::json;

constexpr double kEndSeconds = 5;      // for the others to end after a failure
constexpr double kVerdictSeconds = 8;  // for the leader to gather, after a failure here
constexpr double kNewsSeconds = 1.5;   // for a failure to show that explains a loss elsewhere
constexpr double kLineSeconds = 1;     // for one line of the leader, before it is waited for again

// Which of two results tells how the run ended: where somebody stopped it there is nothing else to find out.
std::pair<bool, Evidence> weight(const SuperviseResult& result) {
  return {result.code == ExitCode::kStopped, result.evidence};
}

SuperviseResult lost(int64_t rank, const std::string& reason, Evidence evidence) {
  return {.code = ExitCode::kPeerLost,
          .first_failing_rank = static_cast<int>(rank),
          .message = reason,
          .reason = reason,
          .evidence = evidence};
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

// Whether some other host is not this very machine, as in a trial of several on one.
bool has_others_elsewhere(const HostPlace& place) {
  return !std::ranges::all_of(
      place.hosts, [](const std::string& host) { return host == "localhost" || is_loopback(host); });
}

std::vector<int> without(const std::vector<int>& numbers, const std::vector<int>& others) {
  std::vector<int> left;
  std::set_difference(numbers.begin(), numbers.end(), others.begin(), others.end(), std::back_inserter(left));
  return left;
}

// How long a host may be silent.
double patience(const JobPlan& job) { return job.spec.strategy.timeout_seconds; }

// What the line has under `name`; nullopt if there is none, or none that this dtrain understands.
template <class T>
std::optional<T> told(const json& line, const char* name) try {
  return line.at(name).get<T>();
} catch (const json::exception&) {
  return std::nullopt;
}

std::optional<SuperviseResult> result_from(const json& line, const char* name) {
  auto result = told<SuperviseResult>(line, name);
  if (!result) return result;
  if (result->code != ExitCode::kDone) result->code = to_exit_code(static_cast<int>(result->code));
  result->evidence = std::clamp(result->evidence, Evidence{}, Evidence::kFailedItself);
  return result;
}

}  // namespace

json end_line(const SuperviseResult& result, std::optional<int64_t> restart) {
  json line = {{"end", result}};
  if (restart) line["restart"] = *restart;
  return line;
}

void take_end(const json& line, int64_t restart, std::optional<SuperviseResult>& end) {
  const auto said = result_from(line, "end");
  if (!said) return;
  const auto number = line.find("restart");
  const bool is_news = number == line.end() || *number == restart;
  if (said->code == ExitCode::kStopped || (is_news && !end)) end = said;
}

LeadingHost::LeadingHost(const JobPlan& job, const JobHosts& hosts,
                         const std::function<std::string()>& make_folder)
    : hosts_(hosts),
      whole_(job, hosts),
      here_(job, hosts),
      address_(leader_address(job.spec.network.interface, hosts.place.hosts.front(),
                              has_others_elsewhere(hosts.place))),
      options_(rendezvous_options(job.spec, hosts.meeting)),
      own_(whole_.own_member(address_)) {
  const auto welcome = [&](const std::vector<Member>& all) {
    for (const Member& member : all) whole_.number_of(member);
    folder_ = make_folder();
    return json{{"address", address_}, {"folder", folder_}};
  };
  const auto expected_at = [&](int64_t rank) { return "host " + whole_.name(whole_.number_of_rank(rank)); };
  take(others_, open_rendezvous(address_, hosts.place.port, hosts.meeting)
                    .gather(own_, options_, expected_at, welcome));
  go_on_with(whole_.numbers());
}

void LeadingHost::take(std::vector<OtherHost>& hosts, std::vector<MemberLink> links) {
  for (MemberLink& link : links) {
    const int number = whole_.number_of(link.member);
    hosts.push_back({std::move(link), number});
  }
}

bool LeadingHost::expects_others() const {
  return hosts_may_change(whole_.job()) && here_.numbers() != whole_.numbers();
}

// Otherwise nobody listens there: only who expects others lets them in. Another job may have the port by now.
void LeadingHost::open_door() {
  if (door_) return;
  try {
    door_.emplace(open_rendezvous(address_, hosts_.place.port, hosts_.meeting));
    if (std::exchange(is_shut_, false)) hosts_.meeting.notice("hosts can come back now");
  } catch (const Error& error) {
    if (!std::exchange(is_shut_, true))
      hosts_.meeting.notice(fmt::format("no host can come back yet: {}", error.what()));
  }
}

void LeadingHost::let_in(bool waits) {
  if (!door_) return;
  std::vector<Member> present;
  for (const auto* hosts : {&others_, &newcomers_}) {
    for (const OtherHost& host : *hosts) {
      if (!host.member.link.closed()) present.push_back(host.member.member);
    }
  }
  const auto welcome = [&](const Member& member) {
    whole_.number_of(member);
    return json{{"address", address_}, {"folder", folder_}, {"again", true}};
  };
  take(newcomers_, door_->look(own_, options_, present, waits, welcome));
}

void LeadingHost::take_newcomers() {
  std::move(newcomers_.begin(), newcomers_.end(), std::back_inserter(others_));
  newcomers_.clear();
}

void LeadingHost::tell_all(const std::string& line) {
  for (OtherHost& host : others_) host.member.link.send(line);
}

std::vector<Identity> LeadingHost::start(int64_t restart, bool resume) {
  for (OtherHost& host : others_) host.end.reset();
  losses_.clear();
  restart_ = restart;
  store_ = host_store(address_, 0, rendezvous_timeout(job().spec));
  store_.admit(members_);
  tell_all(line_of({{"start", store_.port},
                    {"restart", restart},
                    {"resume", resume},
                    {"members", members_},
                    {"hosts", here_.numbers()}}));
  return here_.identities(address_, store_.port, address_, members_);
}

std::optional<SuperviseResult> LeadingHost::stopped() {
  for (OtherHost& host : others_) {
    take_lines(host);
    host.gone = host.gone || host.member.link.closed();
    // Replicas that were told to stop are no news.
    if (host.end && host.end->code == ExitCode::kStopped && host.end->evidence == Evidence::kFailedItself)
      return host.end;
  }
  return std::nullopt;
}

void LeadingHost::announce_restart() {
  drop_lost();
  tell_all(line_of({{"again", true}}));
}

void LeadingHost::drop_lost() {
  stopped();  // who is gone meanwhile
  std::erase_if(others_, [](const OtherHost& host) { return host.gone; });
}

std::vector<int> LeadingHost::numbers_here() const {
  std::vector<int> numbers = {0};
  for (const OtherHost& host : others_) numbers.push_back(host.number);
  std::ranges::sort(numbers);
  return numbers;
}

// "rank 1 (host b)"
std::string LeadingHost::missing() const {
  std::vector<std::string> missing;
  for (const int number : without(whole_.numbers(), numbers_here())) {
    const Range ranks = whole_.ranks_on(number);
    missing.push_back(
        fmt::format("{} (host {})", rank_range(ranks.begin, ranks.size()), whole_.name(number)));
  }
  return join(missing);
}

std::string LeadingHost::meet_again(int stop_signals_before, const std::function<void()>& on_tick) {
  const std::vector<int> before = here_.numbers();
  const bool changes = hosts_may_change(whole_.job());
  // Where hosts may not change, one that was left behind stays away.
  const double seconds = changes || before == whole_.numbers() ? options_.timeout_seconds : 0;
  const double deadline = steady_seconds() + seconds;
  WaitingNotice notice(options_);
  for (bool waits = false;; waits = true) {
    take_newcomers();
    if (const auto stop = stopped()) throw Error(ExitCode::kStopped, stop->message);
    drop_lost();
    const bool late = steady_seconds() >= deadline;
    const std::vector<int> here = numbers_here();
    try {
      if (changes || late || here.size() >= before.size()) {
        go_on_with(here);
        break;
      }
    } catch (const Error& refusal) {
      if (late) throw Error(ExitCode::kPeerLost, "still missing: {}\n{}", missing(), refusal.what());
    }
    if (stop_signals_received() > stop_signals_before)
      throw Error(ExitCode::kStopped, "stopped while waiting for the other hosts");
    if (!waits)
      hosts_.meeting.notice(fmt::format(
          "waiting up to {} for the hosts that are gone; start dtrain there again", human_duration(seconds)));
    open_door();
    notice.look_at_clock([&] { return missing(); });
    on_tick();
    door_ ? let_in(/*waits=*/true) : wait_for_lines();
  }
  expects_others() ? open_door() : door_.reset();
  const std::vector<std::string> back = whole_.names(without(here_.numbers(), before));
  if (back.empty()) return "a host came back, and is gone again";
  return back.size() == 1 ? fmt::format("host {} has come back", back.front())
                          : fmt::format("hosts {} have come back", join(back));
}

void LeadingHost::go_on_with(const std::vector<int>& numbers) {
  if (numbers != here_.numbers()) {
    here_.become(numbers);
    const RunPlan& run = job().distributed_run();
    const BatchPlan& batch = run.batch;
    hosts_.meeting.notice(fmt::format(
        "going on with {} on {}; the global batch stays {}: {} x {} x {} micro-batch{}",
        counted(run.replicas, "replica"), join(here_.names(numbers)), batch.global, batch.per_replica,
        counted(batch.parts, run.virtual_replicas > 0 ? "virtual replica" : "replica"),
        batch.accumulate_steps, batch.accumulate_steps == 1 ? "" : "es"));
  }
  std::vector<Member> all = {own_};
  for (const OtherHost& host : others_) all.push_back(host.member.member);
  members_ = addresses_of(all);
}

void LeadingHost::take_lines(OtherHost& host) {
  for (const std::string& text : host.member.link.receive()) {
    const json line = json::parse(text, nullptr, /*allow_exceptions=*/false);
    take_end(line, restart_, host.end);
    if (const auto lost = told<LostReplica>(line, "lost")) losses_.push_back({*lost, steady_seconds()});
  }
  if (!host.end && host.member.link.closed())
    take_end_of_link(host, "is gone: its dtrain was killed, or the connection to it broke",
                     Evidence::kFailedItself);
}

// A host with nothing but workers that the others can do without just costs these.
void LeadingHost::take_end_of_link(OtherHost& host, const std::string& reason, Evidence evidence) {
  const Member& member = host.member.member;
  const Range ranks = here_.ranks_on(host.number);
  host.gone = true;
  if (!are_expendable(job(), ranks)) {
    host.end =
        lost(ranks.begin, fmt::format("{} with {} {}", member.described(), names_on(job(), ranks), reason),
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
  std::erase_if(losses_, [&](const Loss& loss) { return loss.noticed <= before; });
}

std::optional<SuperviseResult> LeadingHost::interrupted() {
  if (const auto failure = failure_elsewhere()) return failure;
  if (expects_others()) open_door();
  let_in(/*waits=*/false);
  if (newcomers_.empty()) return std::nullopt;
  return SuperviseResult{.code = ExitCode::kStopped};
}

std::optional<SuperviseResult> LeadingHost::failure_elsewhere() {
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
  return std::ranges::all_of(others_, [](const OtherHost& host) { return host.end.has_value(); });
}

SuperviseResult LeadingHost::gather(const SuperviseResult& own) {
  const int stops = stop_signals_received();
  double deadline = steady_seconds() + patience(job());
  bool ending = false;
  std::optional<SuperviseResult> failure = failure_elsewhere();
  while (!all_ended() && steady_seconds() < deadline && stop_signals_received() == stops) {
    if (!ending && (failure || own.code != ExitCode::kDone)) {
      ending = true;
      deadline = steady_seconds() + kEndSeconds;
      tell_all(line_of({{"stop", true}}));
    }
    wait_for_lines();
    failure = failure_elsewhere();
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

void LeadingHost::dismiss(const SuperviseResult& result) {
  take_newcomers();
  tell_all(line_of({{"over", result}}));
}

FollowingHost::FollowingHost(const JobPlan& job, const JobHosts& hosts)
    : hosts_(hosts),
      here_(job, hosts),
      own_address_(job.spec.network.interface ? address_of_interface(*job.spec.network.interface) : ""),
      joined_(join_rendezvous(leader_to_join(job.spec.network.interface, here_.name(0)), hosts.place.port,
                              here_.own_member(own_address_), rendezvous_options(job.spec, hosts.meeting))) {
  if (own_address_.empty()) own_address_ = joined_.own_address;
  const json welcome = json::parse(joined_.welcome);
  leader_address_ = welcome.at("address").get<std::string>();
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
    restart_ = line.at("restart").get<int64_t>();
    here_.become(line.at("hosts").get<std::vector<int>>());
    start_ = {here_.identities(leader_address_, line.at("start").get<uint16_t>(), own_address_,
                               line.at("members").get<std::vector<std::string>>()),
              *restart_, line.at("resume").get<bool>()};
  } catch (const json::exception& error) {
    throw Error(ExitCode::kPeerLost,
                "the first host says what this version of dtrain does not understand: {}", error.what());
  }
}

SuperviseResult FollowingHost::leader_is_gone() const {
  return lost(
      0,
      fmt::format("host {}, which leads, with {} is gone: its dtrain was killed, or the connection to "
                  "it broke",
                  here_.name(0), names_on(job(), here_.ranks_on(0))),
      Evidence::kFailedItself);
}

std::optional<HostStart> FollowingHost::wait_for_start(int stop_signals_before) {
  while (!start_ && !over_ && !stopped_ && stop_signals_received() == stop_signals_before) {
    if (const auto line = joined_.link.next(kLineSeconds)) {
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
  return lost(-1, fmt::format("host {} ended the job", here_.name(0)), Evidence::kBlamesPeers);
}

void FollowingHost::tell_loss(const LostReplica& lost) { joined_.link.send(line_of({{"lost", lost}})); }

std::optional<SuperviseResult> FollowingHost::report(const SuperviseResult& own, int stop_signals_before) {
  // No signal has stopped what is done; one may have come just then.
  const int stops = own.code == ExitCode::kDone ? stop_signals_before : stop_signals_received();
  joined_.link.send(line_of(end_line(own, restart_)));
  // After a failure the leader may still be saving, or wait for a third host, before it says what comes next.
  // Where all went well, workers of other hosts may train on for hours: that the leader is gone shows in the
  // link, which the kernel closes when nothing answers its probes.
  const RunPlan& run = job().distributed_run();
  const double saves = saves_checkpoints(job(), run) ? kSaveSeconds : 0;
  const double seconds = std::max(saves, most_restarts(job(), run) > 0 ? patience(job()) : 0);
  const double deadline = steady_seconds() + seconds + kVerdictSeconds;
  const auto may_wait = [&] { return own.code == ExitCode::kDone || steady_seconds() < deadline; };
  while (!over_ && !again_ && !joined_.link.closed() && stop_signals_received() == stops && may_wait()) {
    if (const auto line = joined_.link.next(kLineSeconds)) take_line(*line);
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
