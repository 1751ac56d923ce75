// Looks at this host, and at others by ssh, for what would keep a job from running.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "identity/identity.h"
#include "identity/place.h"
#include "metrics/event.h"
#include "train/meeting.h"

namespace dtrain {

struct Finding {
  std::string host;   // "" for this one
  std::string check;  // "program", "port", ...
  bool ok = true;
  std::string text;      // what was found
  std::string advice;    // what to do, when not ok
  std::string identity;  // has to be the same on all hosts, when not empty
};

using OnFinding = std::function<void(const Finding&)>;

Event to_event(const Finding& finding);
std::optional<Finding> finding_from(const std::string& line);  // of JSON; nullopt when it is none

struct DoctorOptions {
  std::vector<std::string> hosts;                // at least two, or none
  std::optional<std::string> ssh_configuration;  // ssh -F
  std::string program;                           // its path on every host
  uint16_t port = kDefaultPort;                  // network.port
};

// The program, LibTorch, devices, cores, memory, limits, interfaces, the port, the datasets that are here
// with their checksums, and the all-reduce between processes here.
void examine_this_host(const DoctorOptions& options, const OnFinding& on_finding);

// Every one of options.hosts: whether ssh reaches it, what it finds of itself, whether it is like the first,
// and the all-reduce between all of them. Throws Error when there is no ssh.
void examine_hosts(const DoctorOptions& options, const OnFinding& on_finding);

// One host's part in that all-reduce, which examine_hosts() starts: it meets the others as the replicas of a
// job do. Rank 0 returns what it measured. Throws Error as these do.
std::optional<Event> take_part_in_examination(Identity identity, const MeetingOptions& meeting);

}  // namespace dtrain
