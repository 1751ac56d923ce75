// How the members of a job that spans hosts find each other, within a bounded time.
//
// The first host listens; the others connect to it. Both ends prove that they know the job token, without
// showing it, by answering a random challenge with its HMAC-SHA256; then the member says who it is
// (membership.h), and when all replicas are there the leader welcomes everyone, or tells everyone why not.
// What is sent is neither encrypted nor signed: the token keeps out who can connect, not who can change what
// is on the wire. An empty token lets everyone in.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/signals.h"
#include "core/sockets.h"
#include "rendezvous/link.h"
#include "rendezvous/membership.h"

namespace dtrain {

struct RendezvousOptions {
  std::string token;
  double timeout_seconds = 60;
  double silence_seconds = 60;  // of a link, once everybody is there
  std::function<void(const std::string&)> notice = [](const std::string&) {};  // a line for people
  int stop_signals_before = stop_signals_received();                           // a later one ends the waiting
};

// Where a rank should come from, for the list of those that are missing ("host b"), or "".
using ExpectedAt = std::function<std::string(int64_t rank)>;
// What everybody is told when all are there; the argument is the members, the leader first. What it throws is
// told to everybody instead, as a refusal.
using Welcome = std::function<nlohmann::json(const std::vector<Member>&)>;

struct MemberLink {
  Member member;
  Link link;
};

class Rendezvous {
 public:
  // Listens at `address` of this host, at `port` or, when that is 0, at a free one. Throws Error(kPeerLost)
  // that names them when it cannot.
  Rendezvous(const std::string& address, uint16_t port);

  uint16_t port() const { return listening_.port; }

  // Waits until every one of own.world_size replicas has a member, and sends the welcome.
  //
  // Throws Error, after telling it to all that are there: kPeerLost with the missing ranks at the deadline;
  // kUsage when a member contradicts another (it waits up to five seconds more, so that all hear of it);
  // kStopped at a stop signal. Strangers, and members with another token, do not disturb it.
  //
  // `present`: those of an earlier gathering that are still there, perhaps none; nullopt: it is the first.
  // Only the others are waited for, welcomed or told why not, and returned; then one that contradicts is
  // turned away.
  std::vector<MemberLink> gather(const Member& own, const RendezvousOptions& options,
                                 const ExpectedAt& expected_at, const Welcome& welcome,
                                 const std::optional<std::vector<Member>>& present = {});

 private:
  Listening listening_;
};

struct Joined {
  Link link;
  std::string welcome;      // JSON
  std::string own_address;  // where this end of the link is
};

// The other side: connects to the leader, again and again until the deadline, and waits for its welcome.
// Throws Error: kPeerLost when it does not answer in time or goes away, kUsage when it has another token, its
// own code and message when it refuses, kStopped at a stop signal.
Joined join_rendezvous(const std::string& host, uint16_t port, const Member& own,
                       const RendezvousOptions& options);

}  // namespace dtrain
