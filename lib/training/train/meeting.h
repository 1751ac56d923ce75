// How the processes of a job find each other if a launcher started them or the job spans hosts.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "launch/identity.h"
#include "plan/job_plan.h"
#include "rendezvous/rendezvous.h"
#include "store/store.h"

namespace dtrain {

struct MeetingOptions {
  std::string token;                               // of the job, see launch/identity.h
  std::function<void(const std::string&)> notice;  // takes a line for people
  bool resumes = false;  // whether the job resumes from a checkpoint; the same for all members
  double notice_seconds = RendezvousOptions().notice_seconds;
  std::string complete = {};  // rank 0's: if not empty, why nothing is left to do; all replicas leave with it
};

std::chrono::milliseconds rendezvous_timeout(const JobSpec& spec);
RendezvousOptions rendezvous_options(const JobSpec& spec, const MeetingOptions& options);

// The description that the process which starts the replicas of `ranks` sends to the others. `host`: the name
// by which the others know it; `own_address`: where it listens, if it does already.
Member member_of(const JobPlan& job, const Range& ranks, const std::string& host,
                 const std::string& own_address, const MeetingOptions& options);

// Listens for the others, and gives notice if no token keeps strangers out.
Rendezvous open_rendezvous(const std::string& address, uint16_t port, const MeetingOptions& options);

// Brings together all replicas of a job that a launcher started. Returns the store that rank 0 serves, and
// sets in `identity` the host of this process and the addresses of its sockets. Collective. Throws as
// Rendezvous::gather and join_rendezvous do, and Error(kDone) everywhere if the job is `complete`.
StorePtr meet_replicas(const JobPlan& job, Identity& identity, const MeetingOptions& options);

// The end of a job whose replicas a launcher started, at the store that rank 0 serves. Rank 0 announces that
// everything is written. It returns once the others know, or have died, or have not come within `timeout`.
// The others wait for the announcement, however long rank 0 takes. A replica that cannot know whether the job
// completed throws Error(kPeerLost).
void announce_completion(const StorePtr& store, int world_size, std::chrono::milliseconds timeout);
void await_completion(const StorePtr& store, int world_size);

}  // namespace dtrain
