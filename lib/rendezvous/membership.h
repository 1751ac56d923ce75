// What a member of a job says of itself when hosts meet, and whether members belong together.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"

namespace dtrain {

// The replicas that are started together: those of one host, or a single one.
struct Member {
  int64_t first_rank = 0;
  int64_t replicas = 1;
  int64_t world_size = 1;
  std::string host;                    // its name, for messages
  int64_t process = 0;                 // its number there
  std::vector<std::string> addresses;  // of the host
  std::string spec;                    // as YAML, without what may differ between hosts
  std::string data;                    // what was found to train on
  std::string version;                 // of dtrain
  std::string libtorch;
  std::string machine;  // the kernel that it runs on: hosts may have the same name

  std::string described() const;  // "host b (process 12)"
};

std::string to_line(const Member& member);  // one line of JSON
// nullopt when the line is no member of a sensible size.
std::optional<Member> parse_member(const std::string& line);

// The addresses of all, each once.
std::vector<std::string> addresses_of(const std::vector<Member>& members);

// The number of each rank's host, counted by first appearance among the ranks. Members of the same host name
// on the same machine share it.
std::vector<int> hosts_of_ranks(const std::vector<Member>& members);

// Whether all hosts have as many ranks, numbered one host after the other; `hosts` as above.
bool are_host_by_host(const std::vector<int>& hosts);

// Why `member` cannot be in a job with those in `present`, the first of which leads: another version, spec,
// data or number of replicas, or ranks that another one has; empty when it can.
std::string contradiction(const std::vector<Member>& present, const Member& member);

}  // namespace dtrain
