// Checks this host, and others by ssh, for anything that would keep a job from running.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/identity.h"
#include "launch/place.h"
#include "metrics/event.h"
#include "train/meeting.h"

namespace dtrain {

class GlooGroup;

struct Finding {
  std::string host;   // "" for this host
  std::string check;  // "program", "port", ...
  bool ok = true;
  std::string text;      // what was found
  std::string advice;    // what to do, if not ok
  std::string identity;  // if not empty: has to be the same on all hosts
  Event numbers = {};    // an object of what was measured, if anything was
};

using OnFinding = std::function<void(const Finding&)>;  // what it throws ends the examination

Event to_event(const Finding& finding);
std::optional<Finding> finding_from(const std::string& line);  // parses JSON; nullopt if it is not a finding

struct DoctorOptions {
  std::vector<std::string> hosts;                // at least two, or empty
  std::optional<std::string> ssh_configuration;  // ssh -F
  std::string program;                           // its path on every host
  uint16_t port = kDefaultPort;                  // network.port
};

// Checks the program, LibTorch, devices, cores, memory, limits, interfaces, the port, the datasets found here
// and their checksums, and the all-reduce between processes on this host.
void examine_this_host(const DoctorOptions& options, const OnFinding& on_finding);

// Checks every host in options.hosts: whether ssh reaches it, its own findings, whether it is the same as the
// first host, the all-reduce between all hosts, and the link between each two. Throws Error without ssh.
void examine_hosts(const DoctorOptions& options, const OnFinding& on_finding);

// Runs one host's part of these measurements, which examine_hosts() starts. The hosts meet as the replicas of
// a job do. Rank 0 returns what it measured. Throws Error as those do.
std::optional<Event> take_part_in_examination(Identity identity, const MeetingOptions& meeting);

struct LinkSpeed {
  int64_t first = 0, second = 0;  // ranks
  double round_trip_us = 0;       // the least of many
  double gb_per_second = 0;       // of a large message that goes there and comes back
};

// The links to measure, without their speeds: of up to 16 ranks all, of more those of a ring.
std::vector<LinkSpeed> links_among(int64_t ranks);

// Measures these links one after the other, so that they do not share the network, for some 0.2 s each. Every
// rank gets all. Collective. Throws Error(kPeerLost).
std::vector<LinkSpeed> measure_links(GlooGroup& group);

}  // namespace dtrain
