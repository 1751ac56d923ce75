// The supervisors of a job's hosts: the first one leads, tells the others when to start their replicas, and
// gathers how these ended, so that every host ends soon after the first failure and names the same cause.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/store.h"
#include "launch/place.h"
#include "launch/rendezvous.h"
#include "launch/supervisor.h"
#include "train/job_plan.h"
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
  // and returns its name, which the others take for theirs. The arguments outlive this.
  LeadingHost(const JobPlan& job, const JobHosts& hosts, const std::function<std::string()>& make_folder);

  // Serves the store of the distributed run, tells the others to start, and returns who is here.
  std::vector<Identity> start();
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
    std::optional<SuperviseResult> end;
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

  const JobPlan& job_;
  const HostPlace& place_;
  std::string address_;
  std::vector<std::string> members_;
  std::vector<OtherHost> others_;
  std::vector<Loss> losses_;  // not told yet
  std::function<void(const LostReplica&)> on_lost_ = [](const LostReplica&) {};
  HostedStore store_;
};

// The other end.
class FollowingHost {
 public:
  // Throws as join_rendezvous does. The arguments outlive this.
  FollowingHost(const JobPlan& job, const JobHosts& hosts);

  const std::string& folder() const { return folder_; }  // the leader's, a plain name
  // Waits for the leader's word, however long it trains alone before; nullopt when the job is over instead,
  // or a stop signal came.
  std::optional<std::vector<Identity>> wait_for_start();
  // What ended the job elsewhere, if something did; for LocalReplicas::interrupted.
  std::optional<SuperviseResult> interrupted();
  // Tells the leader of a worker here.
  void tell_loss(const LostReplica& lost);
  // Tells the leader how this host's replicas ended and returns how the job did.
  SuperviseResult report(const SuperviseResult& own);

 private:
  void take_line(const std::string& line);
  SuperviseResult leader_is_gone() const;

  const JobPlan& job_;
  const HostPlace& place_;
  std::string own_address_;
  Joined joined_;
  std::string folder_;
  std::string leader_address_;
  std::vector<std::string> members_;
  std::optional<uint16_t> store_port_;
  bool stopped_ = false;  // the leader wants this host's replicas to end
  std::optional<SuperviseResult> over_;
};

}  // namespace dtrain
