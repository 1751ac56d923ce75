// Lets the members of a job on several hosts find each other, within a bounded time.
//
// The first host (the leader) listens, and the others connect to it. Both ends prove that they know the job
// token without revealing it, by answering a random challenge with its HMAC-SHA256. Then the member describes
// itself (membership.h). When all replicas are present, the leader welcomes all members, or tells all of them
// why it refuses. Messages are neither encrypted nor signed: the token keeps out strangers who can connect,
// but not someone who can change data on the network. With an empty token, anyone can join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/signals.h"
#include "core/sockets.h"
#include "crypto/crypto.h"
#include "rendezvous/link.h"
#include "rendezvous/membership.h"

namespace dtrain {

// How two ends of a new connection prove to each other that they know the job token, without showing it:
//
//   leader -> member: kGreeting, 32 random bytes L
//   member -> leader: 32 random bytes M, HMAC-SHA256(token, "member" L M)
//   leader -> member: HMAC-SHA256(token, "leader" M L); zeros when the member's answer was wrong
inline const std::string kGreeting = "dtrain1\n";
inline const size_t kChallengeBytes = kGreeting.size() + kSha256Bytes;
constexpr size_t kAnswerBytes = 2 * kSha256Bytes;

inline std::string member_proof(const std::string& token, const std::string& leader_nonce,
                                const std::string& member_nonce) {
  return hmac_sha256(token, "member" + leader_nonce + member_nonce);
}

inline std::string leader_proof(const std::string& token, const std::string& leader_nonce,
                                const std::string& member_nonce) {
  return hmac_sha256(token, "leader" + member_nonce + leader_nonce);
}

// Ends what is said of hosts that did not come in time.
inline constexpr const char* kHowLongToWait =
    "(network.rendezvous_timeout_seconds is how long to wait; a host that decodes pictures for the first "
    "time comes later)";

struct RendezvousOptions {
  std::string token;
  double timeout_seconds = 60;
  double silence_seconds = 60;  // of a link, once all members are present
  double notice_seconds = 20;   // between two lines that say what is waited for
  std::function<void(const std::string&)> notice = [](const std::string&) {};  // receives a line for users
  int stop_signals_before = stop_signals_received();                           // a later one ends the waiting
};

// Says at times what is waited for: "waiting for HOST:PORT (20 s)".
class WaitingNotice {
 public:
  explicit WaitingNotice(const RendezvousOptions& options)
      : options_(options), begun_(steady_seconds()), due_(begun_ + options.notice_seconds) {}
  // `what` makes the text of what is waited for.
  void look_at_clock(const std::function<std::string()>& what);

 private:
  const RendezvousOptions& options_;
  double begun_, due_;
};

// Where a rank is expected ("host b"), for the list of missing ranks; "" if unknown.
using ExpectedAt = std::function<std::string(int64_t rank)>;
// Makes the welcome that is sent to all members once they are all present. The argument is the members, the
// leader first. If it throws an Error, all members get that as a refusal instead: kDone if nothing is to do.
using Welcome = std::function<nlohmann::json(const std::vector<Member>&)>;
// The same for a member that comes later.
using MemberWelcome = std::function<nlohmann::json(const Member&)>;

struct MemberLink {
  Member member;
  Link link;
};

class Rendezvous {
 public:
  // Listens at `address` of this host, on `port` or (0) any free one. Throws Error(kPeerLost) naming both.
  Rendezvous(const std::string& address, uint16_t port);

  uint16_t port() const { return listening_.port; }

  // Waits until each of the own.world_size replicas has a member, and then sends the welcome.
  //
  // Throws Error, after sending it to all members that are present: kPeerLost with the missing ranks at the
  // deadline; kUsage if a member contradicts another (after waiting up to five more seconds, so that all get
  // the message); kStopped at a stop signal. Strangers, and members with another token, are turned away.
  std::vector<MemberLink> gather(const Member& own, const RendezvousOptions& options,
                                 const ExpectedAt& expected_at, const Welcome& welcome);

  // After a gathering, whose members `present` are still there: welcomes and returns those that have come
  // since the last look. Waits for at most kLinkLookMilliseconds if `waits`, else not at all. A member that
  // contradicts the others (kUsage), whose ranks are taken (kPeerLost: for now), or for which `welcome`
  // throws an Error, is turned away.
  std::vector<MemberLink> look(const Member& own, const RendezvousOptions& options,
                               const std::vector<Member>& present, bool waits, const MemberWelcome& welcome);

 private:
  // A connection whose other end has not identified itself yet.
  struct Candidate {
    Descriptor socket;
    std::string nonce;
    std::string input;
    double deadline;
    bool proven = false;
  };
  class Gathering;

  Listening listening_;
  std::vector<Candidate> candidates_;
};

struct Joined {
  Link link;
  std::string welcome;      // JSON
  std::string own_address;  // the local address of the link
};

// The member's side: tries to connect to the leader until the deadline, and waits for its welcome. Throws
// Error: kPeerLost if the leader does not answer in time or goes away, kUsage if it has another token, the
// leader's own code and message if it refuses, and kStopped at a stop signal.
Joined join_rendezvous(const std::string& host, uint16_t port, const Member& own,
                       const RendezvousOptions& options);

}  // namespace dtrain
