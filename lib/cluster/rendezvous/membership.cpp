#include "rendezvous/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "host/hosts.h"
#include "launch/identity.h"
#include "rendezvous/link.h"

namespace dtrain {
namespace {

using nlohmann::json;

constexpr size_t kMostAddresses = 64;
constexpr size_t kMostDifferences = 5;

bool is_sensible(const Member& member) {
  if (member.world_size < 1 || member.world_size > kMaxWorldSize || member.replicas < 1 ||
      member.first_rank < 0)
    return false;
  if (member.replicas > member.world_size || member.first_rank > member.world_size - member.replicas)
    return false;
  if (member.addresses.size() > kMostAddresses) return false;
  for (const std::string& address : member.addresses) {
    if (!is_host(address)) return false;
  }
  return true;
}

std::string without_indent(const std::string& line) {
  const size_t begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : printable(line.substr(begin), 120);
}

// The lines of `b` that differ from those of `a`, with both values: "'epochs: 3' instead of 'epochs: 5'".
std::string differences(const std::string& a, const std::string& b) {
  const std::vector<std::string> lines_a = split_lines(a), lines_b = split_lines(b);
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::max(lines_a.size(), lines_b.size()); ++i) {
    const std::string line_a = i < lines_a.size() ? without_indent(lines_a[i]) : "nothing";
    const std::string line_b = i < lines_b.size() ? without_indent(lines_b[i]) : "nothing";
    if (line_a == line_b) continue;
    shown.push_back(fmt::format("'{}' instead of '{}'", line_b, line_a));
    if (shown.size() == kMostDifferences) break;
  }
  return join(shown);
}

bool overlap(const Member& a, const Member& b) {
  return a.first_rank < b.first_rank + b.replicas && b.first_rank < a.first_rank + a.replicas;
}

}  // namespace

std::string Member::described() const {
  return fmt::format("host {} (process {})", printable(host, 80), process);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Member, first_rank, replicas, world_size, host, process, addresses, spec,
                                   data, communication, version, libtorch, machine)

std::string to_line(const Member& member) { return line_of(member); }

std::optional<Member> parse_member(const std::string& line) {
  try {
    const auto member = json::parse(line).get<Member>();
    return is_sensible(member) ? std::optional(member) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::vector<std::string> addresses_of(const std::vector<Member>& members) {
  std::vector<std::string> all;
  for (const Member& member : members) {
    for (const std::string& address : member.addresses) {
      if (std::ranges::find(all, address) == all.end()) all.push_back(address);
    }
  }
  return all;
}

std::vector<int> hosts_of_ranks(const std::vector<Member>& members) {
  std::vector<std::string> names(static_cast<size_t>(members.front().world_size));
  for (const Member& member : members) {
    for (int64_t rank = member.first_rank; rank < member.first_rank + member.replicas; ++rank)
      names.at(static_cast<size_t>(rank)) = member.host + "\n" + member.machine;
  }
  std::map<std::string, int> numbers;
  std::vector<int> hosts;
  for (const std::string& name : names)
    hosts.push_back(numbers.emplace(name, static_cast<int>(numbers.size())).first->second);
  return hosts;
}

bool are_host_by_host(const std::vector<int>& hosts) {
  const auto each = static_cast<size_t>(std::ranges::count(hosts, 0));
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] != static_cast<int>(rank / each)) return false;
  }
  return hosts.size() % each == 0;
}

std::string contradiction(const Member& leader, const Member& member) {
  const auto says = [&](const std::string& own, const std::string& other) {
    return fmt::format("{} has {}, but {} has {}", member.described(), own, leader.described(), other);
  };
  if (member.version != leader.version || member.libtorch != leader.libtorch) {
    const auto versions = [](const Member& one) {
      return fmt::format("dtrain {} with LibTorch {}", printable(one.version, 40),
                         printable(one.libtorch, 40));
    };
    return says(versions(member), versions(leader)) + "; install the same on every host";
  }
  if (member.world_size != leader.world_size)
    return says(fmt::format("a job of {} replicas", member.world_size),
                fmt::format("one of {}", leader.world_size)) +
           "; set strategy.replicas";
  if (member.spec != leader.spec)
    return fmt::format("{} has another spec than {}: {}; give every host the same", member.described(),
                       leader.described(), differences(leader.spec, member.spec));
  if (member.data != leader.data) return says("the data " + printable(member.data), printable(leader.data));
  if (member.communication != leader.communication)
    return says("communication: " + printable(member.communication) + " for its devices",
                printable(leader.communication)) +
           "; see `dtrain doctor` on both hosts, or set strategy.devices: cpu";
  return "";
}

std::string double_claim(const std::vector<Member>& present, const Member& member) {
  for (const Member& other : present) {
    if (overlap(other, member))
      return fmt::format("{} claims {}, but {} has {}; start each once", member.described(),
                         rank_range(member.first_rank, member.replicas), other.described(),
                         rank_range(other.first_rank, other.replicas));
  }
  return "";
}

std::string translation_notice(const Member& member, const std::string& from) {
  // Members do not tell their loopback addresses, nor those that mean something only with an interface.
  if (is_loopback(from) || !is_host(from) || contains(member.addresses, from)) return "";
  return fmt::format(
      "{} comes from {}, which is none of its addresses ({}): behind address translation other hosts cannot "
      "reach it; give its container the network of its host (--network host)",
      member.described(), from, printable(join(member.addresses), 400));
}

}  // namespace dtrain
