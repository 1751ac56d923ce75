// The supervisors of a job's hosts: the first one leads, tells the others when to start their replicas, and
// collects how they ended. So all end soon after the first failure, with the same cause, or start again.
// Their messages are lines of JSON over a link (rendezvous/link.h).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "job/present_hosts.h"
#include "plan/job_plan.h"
#include "processes/supervisor.h"
#include "rendezvous/rendezvous.h"
#include "store/store.h"

namespace dtrain {

// How a host's replicas, or the whole run, ended. The names of the members are those in the lines.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SuperviseResult, code, first_failing_rank, message, reason, cause, step,
                                   evidence)

// The line with which a host reports how attempt `restart` of the run ended there; nullopt: the host was
// stopped before it had started an attempt.
nlohmann::json end_line(const SuperviseResult& result, std::optional<int64_t> restart);
// Sets `end` to what `line` reports about attempt `restart`. The first report counts. A report about another
// attempt is ignored, except a stop, which may come while the host waits for the verdict or an attempt.
void take_end(const nlohmann::json& line, int64_t restart, std::optional<SuperviseResult>& end);

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LostReplica, rank, reason, restart)

// The leader's end of its links to the other hosts.
class LeadingHost {
 public:
  // Waits for the other hosts; throws as Rendezvous::gather does. Once all have come, `make_folder` makes the
  // run's folder and returns its name, which the others use too. `job` and `hosts` outlive this.
  LeadingHost(const JobPlan& job, const JobHosts& hosts, const std::function<std::string()>& make_folder);

  const std::string& own_name() const { return hosts_.own_name(); }
  // The job on the hosts that are here.
  const JobPlan& job() const { return here_.job(); }
  // Whether hosts have come back. interrupted() then stops the replicas, to restart with these hosts.
  bool grows() const { return !newcomers_.empty(); }

  // Serves the store of the distributed run, tells the others to start, and returns the identities of the
  // replicas on this host. `restart`: how often it was started before; `resume`: from a checkpoint.
  std::vector<Identity> start(int64_t restart, bool resume);
  // Between two attempts: what stopped the job on another host; nullopt if nothing did.
  std::optional<SuperviseResult> stopped();
  // After gather(): tells the others that the run restarts. They then wait for start().
  void announce_restart();
  // Takes in the hosts that have come back, and returns which, as text for people. If hosts are gone, waits
  // for them as long as all wait for each other at the beginning, but not if hosts_may_change() and enough
  // are here. If they do not come, the job continues with the hosts that are here, if it allows that. Throws
  // Error: kPeerLost if neither is possible; kStopped at a stop signal later than the first
  // `stop_signals_before`, on this host or on another one that is here. Calls `on_tick` all the while.
  std::string meet_again(int stop_signals_before, const std::function<void()>& on_tick);
  // `listener` is called when another host has lost a worker that the job can continue without. It is not
  // called if the job fails at about the same time.
  void tell_losses_to(std::function<void(const LostReplica&)> listener) { on_lost_ = std::move(listener); }
  // What ended another host, if something did, or a stop if grows(); for LocalReplicas::interrupted.
  std::optional<SuperviseResult> interrupted();
  // Waits for a bounded time until the others have ended. Returns how the run ended, by the best evidence.
  SuperviseResult gather(const SuperviseResult& own);
  // Tells the others how the job ended.
  void dismiss(const SuperviseResult& result);

 private:
  struct OtherHost {
    MemberLink member;  // as it came, with its number among all hosts
    int number = 0;     // that number
    std::optional<SuperviseResult> end = {};
    bool gone = false;
  };
  struct Loss {
    LostReplica replica;
    double noticed;
  };
  std::optional<SuperviseResult> failure_elsewhere();
  void take_lines(OtherHost& host);
  void take_end_of_link(OtherHost& host, const std::string& reason, Evidence evidence);
  void tell_losses(double age);
  void wait_for_lines() const;
  bool all_ended() const;
  void tell_all(const std::string& line);
  void take(std::vector<OtherHost>& hosts, std::vector<MemberLink> links);
  bool expects_others() const;
  void open_door();
  void let_in(bool waits);
  void take_newcomers();
  void drop_lost();
  std::vector<int> numbers_here() const;
  std::string missing() const;
  void go_on_with(const std::vector<int>& numbers);

  const JobHosts& hosts_;
  const PresentHosts whole_;  // all of them
  PresentHosts here_;
  const std::string address_;
  const RendezvousOptions options_;
  const Member own_;
  std::string folder_;
  std::vector<std::string> members_;
  std::vector<OtherHost> others_;
  std::optional<Rendezvous> door_;    // open while hosts may come back
  bool is_shut_ = false;              // although hosts may, as the port is in use
  std::vector<OtherHost> newcomers_;  // have come through it, and wait for the next start
  std::vector<Loss> losses_;          // not told yet
  std::function<void(const LostReplica&)> on_lost_ = [](const LostReplica&) {};
  HostedStore store_;
  int64_t restart_ = 0;  // how often the run was started before; reports about an earlier attempt are ignored
};

// The leader's message that starts the replicas of the distributed run.
struct HostStart {
  std::vector<Identity> identities;  // of the replicas on this host
  int64_t restart = 0;               // how often they were started before
  bool resume = false;               // from a checkpoint, which the leader knows
};

// The end of another host.
class FollowingHost {
 public:
  // Throws as join_rendezvous does. `job` and `hosts` outlive this.
  FollowingHost(const JobPlan& job, const JobHosts& hosts);

  const std::string& folder() const { return folder_; }  // the leader's, a plain name
  // Whether the job continued while this host was gone, so that its folder may exist already.
  bool comes_back() const { return comes_back_; }
  // The job on the hosts that are here, as in LeadingHost.
  const JobPlan& job() const { return here_.job(); }
  // Waits until the leader starts the run, however long it trains the baseline first. nullopt if the job has
  // ended, or at a stop signal later than the first `stop_signals_before`.
  std::optional<HostStart> wait_for_start(int stop_signals_before);
  // What ended the job elsewhere, if something did; for LocalReplicas::interrupted.
  std::optional<SuperviseResult> interrupted();
  // Tells the leader that a worker on this host is lost.
  void tell_loss(const LostReplica& lost);
  // Tells the leader how this host's replicas ended; returns how the job ended; nullopt: the run restarts.
  // A host that is done waits without a limit, but for a stop signal later than the first
  // `stop_signals_before`.
  std::optional<SuperviseResult> report(const SuperviseResult& own, int stop_signals_before);

 private:
  void take_line(const std::string& text);
  SuperviseResult leader_is_gone() const;

  const JobHosts& hosts_;
  PresentHosts here_;
  std::string own_address_;
  Joined joined_;
  std::string folder_;
  std::string leader_address_;
  bool comes_back_ = false;
  std::optional<HostStart> start_;
  std::optional<int64_t> restart_;  // number of the last attempt that was started
  bool stopped_ = false;            // the leader wants this host's replicas to end
  bool again_ = false;              // the run begins again
  std::optional<SuperviseResult> over_;
};

}  // namespace dtrain
