// The supervisors of a job's hosts: the first one leads, tells the others when to start their replicas, and
// gathers how these ended, so that every host ends soon after the first failure and names the same cause, or
// begins again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "identity/place.h"
#include "plan/job_plan.h"
#include "rendezvous/rendezvous.h"
#include "store/store.h"
#include "supervise/supervisor.h"
#include "train/meeting.h"

namespace dtrain {

// Of a job with a supervisor on each host.
struct JobHosts {
  HostPlace place;
  MeetingOptions meeting;

  const std::string& own_name() const { return place.hosts[static_cast<size_t>(place.index)]; }
};

// The leader's end of its links to the other hosts.
class LeadingHost {
 public:
  // Meets them; throws as Rendezvous::gather does. When all are there `make_folder` makes the run's folder
  // and returns its name, which the others take for theirs. `hosts` outlives this.
  LeadingHost(const JobPlan& job, const JobHosts& hosts, const std::function<std::string()>& make_folder);

  // The job on the hosts that are left (job/fewer_hosts.h).
  const JobPlan& job() const { return job_; }

  // Serves the store of the distributed run, tells the others to start, and returns who is here. `restart`:
  // how often it was started before; `resume`: whether it goes on from a checkpoint.
  std::vector<Identity> start(int64_t restart, bool resume);
  // Between two attempts: what stopped the job elsewhere, if something did.
  std::optional<SuperviseResult> stopped();
  // After gather(): tells the others that the run begins again. They wait for start() then.
  void announce_restart();
  // Waits for the hosts that are gone to come back, as long as all wait for each other at the beginning.
  // Without them it goes on with those that are here, where the job allows it. Throws Error: kPeerLost when
  // neither can be, kStopped at a stop signal later than the first `stop_signals_before`, or when one came to
  // a host that is here.
  void meet_again(int stop_signals_before);
  // Who is told when a worker that the others can do without is lost elsewhere, and why; not when the job
  // fails about then.
  void tell_losses_to(std::function<void(const LostReplica&)> listener) { on_lost_ = std::move(listener); }
  // What ended another host, if something did; for LocalReplicas::interrupted.
  std::optional<SuperviseResult> interrupted();
  // Waits, within bounds, until the others have ended too. Returns how the run ended, by the best evidence.
  SuperviseResult gather(const SuperviseResult& own);
  // Tells the others how the job ended.
  void dismiss(const SuperviseResult& result);

 private:
  struct OtherHost {
    MemberLink member;
    int number = 0;  // among the job's hosts, as they were at the beginning
    std::optional<SuperviseResult> end = {};
    bool gone = false;
  };
  struct Loss {
    LostReplica replica;
    double noticed;
  };
  void take_lines(OtherHost& host);
  void take_end_of_link(OtherHost& host, const std::string& reason, Evidence evidence);
  void tell_losses(double age);
  void wait_for_lines() const;
  bool all_ended() const;
  void tell_all(const std::string& line);
  void take_in(std::vector<MemberLink> links);
  void go_on_with_those_here(const Error& why);

  JobPlan job_;
  const JobHosts& hosts_;
  HostPlace place_;           // of the hosts that are left
  std::vector<int> numbers_;  // theirs
  std::string address_;
  std::string folder_;
  std::vector<std::string> members_;
  std::vector<OtherHost> others_;
  std::vector<Loss> losses_;  // not told yet
  std::function<void(const LostReplica&)> on_lost_ = [](const LostReplica&) {};
  HostedStore store_;
  int64_t restart_ =
      0;  // how often the run was started before; what hosts say of an earlier attempt is no news
};

// What the leader says when the replicas of the distributed run are to start.
struct HostStart {
  std::vector<Identity> identities;  // of those here
  int64_t restart = 0;               // how often they were started before
  bool resume = false;               // from a checkpoint, which the leader knows
};

// The other end.
class FollowingHost {
 public:
  // Throws as join_rendezvous does. `hosts` outlives this.
  FollowingHost(const JobPlan& job, const JobHosts& hosts);

  const std::string& folder() const { return folder_; }  // the leader's, a plain name
  // Whether the job went on while this host was gone: its folder may be there already.
  bool comes_back() const { return comes_back_; }
  // As LeadingHost has them.
  const JobPlan& job() const { return job_; }
  // Waits for the leader's word, however long it trains alone before; nullopt when the job is over instead,
  // or a stop signal came that is later than the first `stop_signals_before`.
  std::optional<HostStart> wait_for_start(int stop_signals_before);
  // What ended the job elsewhere, if something did; for LocalReplicas::interrupted.
  std::optional<SuperviseResult> interrupted();
  // Tells the leader of a worker here.
  void tell_loss(const LostReplica& lost);
  // Tells the leader how this host's replicas ended and returns how the job did; nullopt when the run begins
  // again instead.
  std::optional<SuperviseResult> report(const SuperviseResult& own);

 private:
  void take_line(const std::string& line);
  // The leader wants these hosts, by their numbers, to go on.
  void go_on_with(const std::vector<int>& numbers);
  SuperviseResult leader_is_gone() const;

  struct StartLine {
    uint16_t port = 0;
    int64_t restart = 0;
    bool resume = false;
  };

  JobPlan job_;
  const HostPlace whole_;  // of all hosts
  std::string own_name_;
  HostPlace place_;  // of those that are left
  std::string own_address_;
  Joined joined_;
  std::string folder_;
  std::string leader_address_;
  std::vector<std::string> members_;
  bool comes_back_ = false;
  std::optional<StartLine> start_;
  std::optional<int64_t> restart_;  // of what was started last
  bool stopped_ = false;            // the leader wants this host's replicas to end
  bool again_ = false;              // the run begins again
  std::optional<SuperviseResult> over_;
};

}  // namespace dtrain
