// How a member of a job describes itself when hosts meet, and whether members belong to the same job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// Replicas that are started together: all of a host, or a single one.
struct Member {
  int64_t first_rank = 0;
  int64_t replicas = 1;
  int64_t world_size = 1;
  std::string host;                    // its name, for messages
  int64_t process = 0;                 // its process id on that host
  std::vector<std::string> addresses;  // the addresses of the host
  std::string spec;                    // as YAML, without the fields that may differ between hosts
  std::string data;                    // describes the training data that was found
  std::string communication;           // between replicas, chosen for the devices that were found
  std::string version;                 // the version of dtrain
  std::string libtorch;
  std::string machine;  // identifies the running kernel, because hosts may have the same name

  std::string described() const;  // "host b (process 12)"
};

std::string to_line(const Member& member);  // one line of JSON
// nullopt if the line does not describe a member with plausible sizes.
std::optional<Member> parse_member(const std::string& line);

// The addresses of all members, without duplicates.
std::vector<std::string> addresses_of(const std::vector<Member>& members);

// For each rank, the number of its host. Hosts are numbered by first appearance among the ranks. Members with
// the same host name on the same machine share a number.
std::vector<int> hosts_of_ranks(const std::vector<Member>& members);

// Whether all hosts (hosts_of_ranks()) have as many ranks, numbered one host after the other.
bool are_host_by_host(const std::vector<int>& hosts);

// Why `member` cannot join the job of `leader`: it has another version, spec, data, communication or number
// of replicas. Empty if it can join.
std::string contradiction(const Member& leader, const Member& member);

// Which of the members in `present` has ranks that `member` claims. Empty if none has.
std::string double_claim(const std::vector<Member>& present, const Member& member);

// What is doubtful about a connection of `member` from the address `from`, which is none of its own: a
// container's network translates addresses. Empty if nothing is.
std::string translation_notice(const Member& member, const std::string& from);

}  // namespace dtrain
