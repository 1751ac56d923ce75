#include "job/present_hosts.h"

#include <algorithm>

#include "core/error.h"
#include "job/other_replicas.h"

namespace dtrain {

PresentHosts::PresentHosts(const JobPlan& job, const JobHosts& hosts)
    : whole_(job),
      all_(hosts),
      job_(job),
      numbers_(consecutive(0, static_cast<int>(hosts.place.hosts.size()))) {}

void PresentHosts::become(const std::vector<int>& numbers) {
  if (numbers == numbers_) return;
  job_ = with_fewer_hosts(whole_, names(numbers), all_.place.hosts.size());
  numbers_ = numbers;
}

std::vector<std::string> PresentHosts::names(const std::vector<int>& numbers) const {
  std::vector<std::string> names;
  for (const int number : numbers) names.push_back(name(number));
  return names;
}

int64_t PresentHosts::index_of(int number) const {
  return std::lower_bound(numbers_.begin(), numbers_.end(), number) - numbers_.begin();
}

Range PresentHosts::ranks_on(int number) const {
  return job_.distributed_run().ranks_on(index_of(number), std::ssize(numbers_));
}

int PresentHosts::number_of_rank(int64_t rank) const {
  return *std::find_if(numbers_.begin(), numbers_.end() - 1,
                       [&](int number) { return rank < ranks_on(number).end; });
}

int PresentHosts::number_of(const Member& member) const {
  const int number = number_of_rank(member.first_rank);
  if (ranks_on(number) != Range{member.first_rank, member.first_rank + member.replicas})
    throw Error(ExitCode::kUsage, "{} claims {}, which are not those of one host", member.described(),
                rank_range(member.first_rank, member.replicas));
  return number;
}

Member PresentHosts::own_member(const std::string& address) const {
  return member_of(job_, ranks_on(all_.place.index), all_.own_name(), address, all_.meeting);
}

std::vector<Identity> PresentHosts::identities(const std::string& leader, uint16_t port,
                                               const std::string& own_address,
                                               const std::vector<std::string>& members) const {
  const Range ranks = ranks_on(all_.place.index);
  std::vector<Identity> identities(static_cast<size_t>(ranks.size()));
  for (Identity& identity : identities) {
    identity.local_rank = static_cast<int>(&identity - identities.data());
    identity.rank = static_cast<int>(ranks.begin) + identity.local_rank;
    identity.local_world_size = static_cast<int>(ranks.size());
    identity.world_size = static_cast<int>(job_.distributed_run().processes());
    identity.host = static_cast<int>(index_of(all_.place.index));
    identity.hosts = static_cast<int>(numbers_.size());
    identity.master_address = leader;
    identity.master_port = port;
    identity.own_address = own_address;
    identity.members = members;
  }
  return identities;
}

}  // namespace dtrain
