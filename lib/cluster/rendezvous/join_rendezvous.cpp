// A member's side of the rendezvous.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/exit_codes.h"
#include "core/text.h"
#include "rendezvous/rendezvous.h"

namespace dtrain {
namespace {

constexpr double kConnectSeconds = 5;  // for one attempt
constexpr double kAnswerSeconds = 10;  // for each answer of the leader during the handshake
constexpr double kLookSeconds = 0.1;   // how often a notice may be due
constexpr long kRetryNanoseconds = 100'000'000;

class Joining {
 public:
  Joining(const std::string& host, uint16_t port, const RendezvousOptions& options)
      : place_(fmt::format("{}:{}", host, port)),
        host_(host),
        port_(port),
        options_(options),
        notice_(options),
        stops_(stop_signals_received()),
        deadline_(steady_seconds() + options.timeout_seconds) {}

  Joined run(const Member& own) {
    while (true) {
      Descriptor socket = connect();
      if (socket.get() >= 0) {
        Link link(std::move(socket), options_.silence_seconds);
        link.send(to_line(own));
        return await_verdict(std::move(link));
      }
      check_stop();
      if (steady_seconds() >= deadline_)
        throw Error(ExitCode::kPeerLost,
                    "no answer from {} within {} ({}): is dtrain running there, and does nothing block the "
                    "port? {}",
                    place_, human_duration(options_.timeout_seconds), why_, kHowLongToWait);
      notice_.look_at_clock([this] { return place_ + ": " + why_; });
      const timespec pause{0, kRetryNanoseconds};
      ::nanosleep(&pause, nullptr);
    }
  }

 private:
  // Connects and proves that it knows the token. Returns an empty Descriptor if the leader does not answer or
  // goes away during the handshake.
  Descriptor connect() {
    const double left = deadline_ - steady_seconds();
    Descriptor socket = connect_to(host_, port_, std::min(kConnectSeconds, std::max(left, 0.1)), why_);
    if (socket.get() >= 0 && !prove(socket)) socket.reset();
    return socket;
  }

  bool prove(const Descriptor& socket) {
    std::string challenge, answer;
    if (!read_exactly(socket, kChallengeBytes, kAnswerSeconds, challenge) ||
        challenge.compare(0, kGreeting.size(), kGreeting) != 0) {
      why_ = "what answers there is not dtrain, or not this version of it";
      return false;
    }
    const std::string leader_nonce = challenge.substr(kGreeting.size());
    const std::string nonce = random_bytes(kSha256Bytes);
    const std::string proof = nonce + member_proof(options_.token, leader_nonce, nonce);
    if (::send(socket.get(), proof.data(), proof.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(proof.size()) ||
        !read_exactly(socket, kSha256Bytes, kAnswerSeconds, answer)) {
      why_ = "it went away during the handshake";
      return false;
    }
    if (!same_secret(answer, leader_proof(options_.token, leader_nonce, nonce)))
      throw Error(ExitCode::kUsage,
                  "{} has another job token than this host{}; give every host the same DTRAIN_JOB_TOKEN",
                  place_, options_.token.empty() ? ", which has none" : "");
    return true;
  }

  bool read_exactly(const Descriptor& socket, size_t count, double seconds, std::string& bytes) const {
    const double deadline = steady_seconds() + seconds;
    bytes.clear();
    while (bytes.size() < count) {
      std::array<char, 256> buffer;
      const ssize_t got =
          ::recv(socket.get(), buffer.data(), std::min(buffer.size(), count - bytes.size()), 0);
      if (got > 0) {
        bytes.append(buffer.data(), static_cast<size_t>(got));
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR) || steady_seconds() > deadline) {
        return false;
      } else {
        check_stop();
        pollfd ready{socket.get(), POLLIN, 0};
        ::poll(&ready, 1, 100);
      }
    }
    return true;
  }

  void check_stop() const {
    if (stop_signals_received() > stops_)
      throw Error(ExitCode::kStopped, "stopped while waiting for " + place_);
  }

  Joined await_verdict(Link link) {
    // The leader may have started its timeout after ours, but it gives up well before this limit.
    const double deadline = steady_seconds() + 2 * options_.timeout_seconds + kAnswerSeconds;
    std::optional<std::string> line;
    while (!line && !link.closed() && steady_seconds() < deadline) {
      line = link.next(std::min(kLookSeconds, deadline - steady_seconds()));
      check_stop();
      notice_.look_at_clock([this] { return "the others, whom " + place_ + " waits for too"; });
    }
    if (!line)
      throw Error(ExitCode::kPeerLost, "{} {} before all hosts were there; its own messages say why", place_,
                  link.closed() ? "ended" : "did not answer");
    const auto verdict = nlohmann::json::parse(*line, nullptr, /*allow_exceptions=*/false);
    if (verdict.is_object() && verdict.contains("welcome")) {
      std::string own = own_address(link.descriptor());
      return {std::move(link), verdict["welcome"].dump(), std::move(own)};
    }
    if (!verdict.is_object() || !verdict.contains("refused") || !verdict["refused"].is_string())
      throw Error(ExitCode::kPeerLost,
                  place_ + " sent something that this version of dtrain does not understand");
    ExitCode code = ExitCode::kPeerLost;
    if (const auto found = verdict.find("code"); found != verdict.end() && found->is_number_integer())
      code = found->get<int>() == 0 ? ExitCode::kDone : to_exit_code(found->get<int>());
    throw Error(code, printable(verdict["refused"].get<std::string>(), kMaxLinkLine));
  }

  std::string place_, host_;
  uint16_t port_;
  const RendezvousOptions& options_;
  WaitingNotice notice_;
  int stops_;
  double deadline_;
  std::string why_ = "nobody answered";  // why the last attempt failed
};

}  // namespace

Joined join_rendezvous(const std::string& host, uint16_t port, const Member& own,
                       const RendezvousOptions& options) {
  return Joining(host, port, options).run(own);
}

}  // namespace dtrain
