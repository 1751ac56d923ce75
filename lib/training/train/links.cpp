#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "comm/traffic.h"
#include "host/machine.h"
#include "train/replica.h"

namespace dtrain {
namespace {

constexpr size_t kMostLinks = 120;
constexpr std::chrono::seconds kPatience(10);

// What each rank tells rank 0 of its host and of its connections.
Event told_by(const Identity& identity, const std::vector<int>& sockets) {
  Event links = Event::array();
  for (const auto& [address, link] : links_of(sockets))
    links.push_back({address, link.bytes.sent, link.bytes.received, link.retransmitted, link.round_trip_us,
                     link.least_round_trip_us, link.bytes_per_second});
  return Event{{"host", own_host_name()}, {"address", identity.own_address}, {"links", links}};
}

class Links {
 public:
  void add(const Event& told) {
    const size_t here = number_of(told.at("address"));
    hosts_[here].name = told.at("host");
    for (const Event& link : told.at("links")) {
      const size_t there = number_of(link.at(0));
      if (there == here) continue;
      links_[{here, there}] += {{link.at(1), link.at(2)}, link.at(3), link.at(4), link.at(5), link.at(6)};
    }
  }

  std::vector<LinkSummary> summary() const {
    std::set<std::string> names;
    for (const Host& host : hosts_) names.insert(host.name);
    const bool named = names.size() == hosts_.size() && !names.contains("");
    const auto name_of = [&](size_t host) { return named ? hosts_[host].name : hosts_[host].address; };
    std::vector<LinkSummary> all;
    for (const auto& [ends, link] : links_) {
      const auto [first, second] = ends;
      const auto other = links_.find({second, first});  // the same link, as the other end sees it
      if (other != links_.end() && second < first) continue;
      HostLink both = link;
      if (other != links_.end()) both += other->second;
      all.push_back({std::vector{name_of(first), name_of(second)}, link.bytes.sent, link.bytes.received,
                     both.retransmitted, both.round_trip_us / 1e3, both.least_round_trip_us / 1e3,
                     both.bytes_per_second});
    }
    if (all.size() <= kMostLinks) return all;
    const auto bytes = [](const LinkSummary& link) { return *link.bytes_sent + *link.bytes_received; };
    std::ranges::stable_sort(all,
                             [&](const auto& one, const auto& other) { return bytes(one) > bytes(other); });
    all.resize(kMostLinks);
    return all;
  }

 private:
  struct Host {
    std::string address, name;
  };

  size_t number_of(const std::string& address) {
    const auto found = std::ranges::find(hosts_, address, &Host::address);
    if (found != hosts_.end()) return static_cast<size_t>(found - hosts_.begin());
    hosts_.push_back({address, ""});
    return hosts_.size() - 1;
  }

  std::vector<Host> hosts_;
  std::map<std::pair<size_t, size_t>, HostLink> links_;  // as the first of the two sees it
};

}  // namespace

std::optional<std::vector<LinkSummary>> links_between_hosts(const ReplicaContext& context,
                                                            const std::vector<int>& sockets) {
  const RunPlan& run = context.run;
  if (!context.identity.spans_hosts() || run.processes() == 1) return std::nullopt;
  const auto key_of = [&](int64_t rank) { return fmt::format("{}/links of rank {}", run.name(), rank); };
  const Event own = told_by(context.identity, sockets);
  if (!context.leads()) {
    if (!run.is_asynchronous()) context.store->set(key_of(context.identity.rank), event_text(own));
    return std::nullopt;
  }
  Links links;
  links.add(own);
  try {
    for (int64_t rank = 1; rank < run.processes() && !run.is_asynchronous(); ++rank) {
      context.store->wait({key_of(rank)}, kPatience);
      links.add(Event::parse(context.store->get_to_str(key_of(rank))));
    }
  } catch (const std::exception&) {  // a host is gone, but the training is complete
  }
  return links.summary();
}

}  // namespace dtrain
