// The hosts of a job that has a supervisor on each of them, and the job on those that are here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/range.h"
#include "launch/identity.h"
#include "launch/place.h"
#include "plan/job_plan.h"
#include "rendezvous/membership.h"
#include "train/meeting.h"

namespace dtrain {

struct JobHosts {
  HostPlace place;
  MeetingOptions meeting;

  const std::string& own_name() const { return place.hosts[static_cast<size_t>(place.index)]; }
};

// At first all hosts are here. A host is given by its number among all.
class PresentHosts {
 public:
  // `job` and `hosts` outlive this.
  PresentHosts(const JobPlan& job, const JobHosts& hosts);

  const std::vector<int>& numbers() const { return numbers_; }
  const JobPlan& job() const { return job_; }  // with_fewer_hosts()
  // From now on these are here. Throws as with_fewer_hosts() does.
  void become(const std::vector<int>& numbers);

  const std::string& name(int number) const { return all_.place.hosts.at(static_cast<size_t>(number)); }
  std::vector<std::string> names(const std::vector<int>& numbers) const;
  Range ranks_on(int number) const;
  int number_of_rank(int64_t rank) const;
  // Which host the member is. Throws Error(kUsage) if its ranks are not those of one host.
  int number_of(const Member& member) const;
  // What this host says of itself.
  Member own_member(const std::string& address) const;
  // The replicas of this host in the distributed run, which meet at a store at `leader`:`port`.
  std::vector<Identity> identities(const std::string& leader, uint16_t port, const std::string& own_address,
                                   const std::vector<std::string>& members) const;

 private:
  int64_t index_of(int number) const;

  const JobPlan& whole_;
  const JobHosts& all_;
  JobPlan job_;
  std::vector<int> numbers_;
};

}  // namespace dtrain
