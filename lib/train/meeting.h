// How the processes of a job that others started, or that spans hosts, find each other.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "identity/identity.h"
#include "plan/job_plan.h"
#include "rendezvous/rendezvous.h"
#include "store/store.h"

namespace dtrain {

struct MeetingOptions {
  std::string token;                               // of the job, see identity/token.h
  std::function<void(const std::string&)> notice;  // takes a line for people
  bool resumes = false;                            // goes on from a checkpoint: all members must, or none
};

std::chrono::milliseconds rendezvous_timeout(const JobSpec& spec);
RendezvousOptions rendezvous_options(const JobSpec& spec, const MeetingOptions& options);

// What the process that starts the replicas of these `ranks` says of itself; `host` is the name that the
// others know it by, `own_address` where it listens, if it does already.
Member member_of(const JobPlan& job, const Range& ranks, const std::string& host,
                 const std::string& own_address, const MeetingOptions& options);

// Listens for the others, and says so if no token keeps strangers out.
Rendezvous open_rendezvous(const std::string& address, uint16_t port, const MeetingOptions& options);

// Where this host, which the others know as `name`, listens: network.interface, or an address that `name`
// resolves to and that is this host's. Throws Error(kUsage) when there is none, or when it is one of loopback
// (a usual entry of /etc/hosts) though others are `elsewhere`.
std::string leader_address(const JobSpec& spec, const std::string& name, bool elsewhere);

// All replicas of a job, each of which a launcher started, meet at rank 0's; returns the store that it serves
// there, and puts into `identity` the host of this process and where its sockets are to be. Collective.
// Throws as Rendezvous::gather and join_rendezvous do.
StorePtr meet_replicas(const JobPlan& job, Identity& identity, const MeetingOptions& options);

// The end of a job whose replicas a launcher started, at the store that rank 0 serves. Rank 0 announces it
// when all is written, and returns when the others know, or have died, or did not come within `timeout`. The
// others wait for that, however long rank 0 takes; one that cannot know that all is well throws
// Error(kPeerLost).
void announce_completion(const StorePtr& store, int world_size, std::chrono::milliseconds timeout);
void await_completion(const StorePtr& store, int world_size);

}  // namespace dtrain
