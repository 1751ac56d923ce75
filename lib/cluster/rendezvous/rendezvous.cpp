// The leader's side of the rendezvous.
#include "rendezvous/rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "launch/identity.h"

namespace dtrain {
namespace {

constexpr double kProofSeconds = 10;   // from the connection to the proof
constexpr double kRefusalSeconds = 5;  // for the others to connect and receive the refusal
constexpr size_t kMostUnproven = 64;   // unauthenticated connections at the same time
constexpr size_t kMostShown = 16;

nlohmann::json refusal(ExitCode code, const std::string& message) {
  return {{"refused", message}, {"code", static_cast<int>(code)}};
}

}  // namespace

class Rendezvous::Gathering {
 public:
  // `welcome`: of those who come later; nullptr at the first gathering.
  Gathering(Rendezvous& rendezvous, const Member& own, const RendezvousOptions& options,
            const MemberWelcome* welcome = nullptr, const std::vector<Member>& present = {})
      : listener_(rendezvous.listening_),
        candidates_(rendezvous.candidates_),
        options_(options),
        members_({own}),
        welcome_(welcome) {
    members_.insert(members_.end(), present.begin(), present.end());
  }

  // Returns when every rank has a member. Throws what rendezvous.h says.
  void run(const ExpectedAt& expected_at) {
    deadline_ = steady_seconds() + options_.timeout_seconds;
    WaitingNotice notice(options_);
    while (!complete() || !problems_.empty()) {
      wait();
      let_go();
      look();
      if (stop_signals_received() > options_.stop_signals_before)
        refuse(ExitCode::kStopped, "stopped while waiting for the other hosts");
      look_at_clock(expected_at);
      notice.look_at_clock([&] { return missing(expected_at); });
    }
  }

  void wait() const {
    std::vector<pollfd> watched = {{listener_.socket.get(), POLLIN, 0}};
    for (const Candidate& candidate : candidates_) watched.push_back({candidate.socket.get(), POLLIN, 0});
    ::poll(watched.data(), watched.size(), kLinkLookMilliseconds);
  }

  // Admits who has come. Does not block.
  void look() {
    accept_candidates();
    std::erase_if(candidates_, [this](Candidate& candidate) { return advance(candidate); });
  }

  void tell_all(const nlohmann::json& line) {
    const std::string text = line_of(line);
    for (MemberLink& member : links_) member.link.send(text);
  }

  // Sends the refusal to all members, and throws it.
  [[noreturn]] void refuse(ExitCode code, const std::string& message) {
    tell_all(refusal(code, message));
    throw Error(code, message);
  }

  const std::vector<Member>& members() const { return members_; }
  std::vector<MemberLink> take_links() { return std::move(links_); }

 private:
  // Who is gone before all have come is no member any more, and may come again.
  void let_go() {
    const auto is_gone = [this](MemberLink& joined) {
      joined.link.receive();
      if (joined.link.closed()) options_.notice(joined.member.described() + " is gone again");
      return joined.link.closed();
    };
    if (std::erase_if(links_, is_gone) == 0) return;
    members_.erase(members_.begin() + 1, members_.end());
    for (const MemberLink& joined : links_) members_.push_back(joined.member);
  }

  void accept_candidates() {
    while (true) {
      Descriptor socket(::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.get() < 0) return;
      const auto unproven =
          std::ranges::find_if(candidates_, [](const Candidate& candidate) { return !candidate.proven; });
      if (candidates_.size() >= kMostUnproven + static_cast<size_t>(members_.front().world_size) &&
          unproven != candidates_.end())
        candidates_.erase(unproven);  // the oldest
      Candidate candidate{std::move(socket), random_bytes(kSha256Bytes), "",
                          steady_seconds() + kProofSeconds};
      const std::string challenge = kGreeting + candidate.nonce;
      // A new connection has room for the challenge. If this one does not, it is dropped at its deadline.
      [[maybe_unused]] const ssize_t put =
          ::send(candidate.socket.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL);
      candidates_.push_back(std::move(candidate));
    }
  }

  // Returns whether the candidate is finished, admitted or not.
  bool advance(Candidate& candidate) {
    std::array<char, 4096> bytes;
    ssize_t got;
    while ((got = ::recv(candidate.socket.get(), bytes.data(), bytes.size(), 0)) > 0) {
      candidate.input.append(bytes.data(), static_cast<size_t>(got));
      if (candidate.input.size() > (candidate.proven ? kMaxLinkLine : 2 * bytes.size())) return true;
    }
    if (!candidate.proven && candidate.input.size() >= kAnswerBytes && !check_proof(candidate)) return true;
    const size_t end = candidate.proven ? candidate.input.find('\n') : std::string::npos;
    if (end != std::string::npos) {
      admit(candidate, candidate.input.substr(0, end));
      return true;
    }
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) ||
           steady_seconds() > candidate.deadline;
  }

  bool check_proof(Candidate& candidate) {
    const std::string nonce = candidate.input.substr(0, kSha256Bytes);
    const bool good = same_secret(candidate.input.substr(kSha256Bytes, kSha256Bytes),
                                  member_proof(options_.token, candidate.nonce, nonce));
    const std::string answer =
        good ? leader_proof(options_.token, candidate.nonce, nonce) : std::string(kSha256Bytes, '\0');
    [[maybe_unused]] const ssize_t put =
        ::send(candidate.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    candidate.input.erase(0, kAnswerBytes);
    candidate.proven = good;
    candidate.deadline = steady_seconds() + kProofSeconds;
    if (!good)
      options_.notice(fmt::format("turned away a connection from {}: it does not have this job's token",
                                  peer_address(candidate.socket.get())));
    return good;
  }

  void admit(Candidate& candidate, const std::string& line) {
    auto member = parse_member(line);
    if (!member) {
      options_.notice(fmt::format("turned away a connection from {}: it is no member of a job",
                                  peer_address(candidate.socket.get())));
      return;
    }
    const std::string from = peer_address(candidate.socket.get());
    if (std::ranges::none_of(members_, [&](const Member& one) { return one.host == member->host; })) {
      if (const std::string notice = translation_notice(*member, from); !notice.empty())
        options_.notice(notice);
    }
    member->addresses.push_back(from);
    std::string problem = contradiction(members_.front(), *member);
    // Who has the ranks may be gone, as will show soon, so that a later try finds them free.
    const ExitCode code = problem.empty() ? ExitCode::kPeerLost : ExitCode::kUsage;
    if (problem.empty()) problem = double_claim(members_, *member);
    Link link(std::move(candidate.socket), options_.silence_seconds);
    if (welcome_ != nullptr && !greet(*member, code, problem, link)) return;
    if (!problem.empty()) problems_.push_back(problem);
    members_.push_back(*member);
    links_.push_back({*member, std::move(link)});
  }

  // For one that comes later: it is too late to end the whole job because of it. Returns whether it may stay.
  bool greet(const Member& member, ExitCode code, const std::string& problem, Link& link) const {
    try {
      if (!problem.empty()) throw Error(code, problem);
      link.send(line_of({{"welcome", (*welcome_)(member)}}));
      return true;
    } catch (const Error& error) {
      options_.notice(fmt::format("turned away: {}", error.what()));
      link.send(line_of(refusal(error.code(), error.what())));
      return false;
    }
  }

  std::vector<bool> ranks_present() const {
    std::vector<bool> present(static_cast<size_t>(members_.front().world_size));
    for (const Member& member : members_) {
      // A member of a larger world is refused, but must not write beyond the end of this vector.
      const int64_t end = std::min(member.first_rank + member.replicas, members_.front().world_size);
      for (int64_t rank = member.first_rank; rank < end; ++rank) present[static_cast<size_t>(rank)] = true;
    }
    return present;
  }

  bool complete() const {
    const std::vector<bool> present = ranks_present();
    return std::ranges::find(present, false) == present.end();
  }

  std::string missing(const ExpectedAt& expected_at) const {
    const std::vector<bool> present = ranks_present();
    const auto end = static_cast<int64_t>(present.size());
    const auto is_missing = [&](int64_t rank) { return rank < end && !present[static_cast<size_t>(rank)]; };
    std::vector<std::string> shown;
    for (int64_t rank = 0; rank < end; ++rank) {
      if (!is_missing(rank)) continue;
      const int64_t first = rank;
      const std::string where = expected_at(first);
      while (is_missing(rank + 1) && expected_at(rank + 1) == where) ++rank;
      const std::string range = rank_range(first, rank - first + 1);
      shown.push_back(where.empty() ? range : fmt::format("{} ({})", range, where));
    }
    if (shown.size() > kMostShown) {
      shown.resize(kMostShown);
      shown.push_back("more");
    }
    return join(shown);
  }

  std::string present() const {
    std::vector<std::string> shown;
    for (const Member& member : members_) {
      if (shown.size() == kMostShown) break;
      shown.push_back(
          fmt::format("{} on {}", rank_range(member.first_rank, member.replicas), member.described()));
    }
    return join(shown);
  }

  void look_at_clock(const ExpectedAt& expected_at) {
    const double now = steady_seconds();
    if (!problems_.empty()) {
      deadline_ = std::min(deadline_, now + kRefusalSeconds);  // the first time counts: later ones are later
      if (now >= deadline_ || complete()) refuse(ExitCode::kUsage, join(problems_, "\n"));
    } else if (now >= deadline_) {
      refuse(ExitCode::kPeerLost,
             fmt::format(
                 "after {} still missing: {}; here: {}. Is dtrain running there, with the same job token, "
                 "and can it reach {}:{}? {}",
                 human_duration(options_.timeout_seconds), missing(expected_at), present(),
                 own_address(listener_.socket.get()), listener_.port, kHowLongToWait));
    }
  }

  const Listening& listener_;
  std::vector<Candidate>& candidates_;
  const RendezvousOptions& options_;
  std::vector<Member> members_;  // the leader first
  const MemberWelcome* welcome_;
  std::vector<MemberLink> links_;  // to the members that joined
  std::vector<std::string> problems_;
  double deadline_ = 0;
};

void WaitingNotice::look_at_clock(const std::function<std::string()>& what) {
  const double now = steady_seconds();
  if (now < due_) return;
  due_ = now + options_.notice_seconds;
  options_.notice(fmt::format("waiting for {} ({:.0f} s)", what(), now - begun_));
}

Rendezvous::Rendezvous(const std::string& address, uint16_t port) : listening_(listen_at(address, port)) {}

std::vector<MemberLink> Rendezvous::gather(const Member& own, const RendezvousOptions& options,
                                           const ExpectedAt& expected_at, const Welcome& welcome) {
  Gathering gathering(*this, own, options);
  gathering.run(expected_at);
  try {
    gathering.tell_all({{"welcome", welcome(gathering.members())}});
  } catch (const Error& error) {
    gathering.refuse(error.code(), error.what());
  }
  return gathering.take_links();
}

std::vector<MemberLink> Rendezvous::look(const Member& own, const RendezvousOptions& options,
                                         const std::vector<Member>& present, bool waits,
                                         const MemberWelcome& welcome) {
  Gathering gathering(*this, own, options, &welcome, present);
  if (waits) gathering.wait();
  gathering.look();
  return gathering.take_links();
}

}  // namespace dtrain
