// Members as threads, strangers as bare sockets, on loopback.
#include "rendezvous/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>

#include "catch.h"
#include "core/clock.h"
#include "core/sockets.h"
#include "rendezvous/leader_address.h"

namespace dtrain {
namespace {

const std::string kToken = "sixteen letters!";

Member member(int64_t first, int64_t replicas, int64_t world, const std::string& host) {
  Member one;
  one.first_rank = first;
  one.replicas = replicas;
  one.world_size = world;
  one.host = host;
  one.process = 100 + first;
  one.addresses = {"10.0.0." + std::to_string(first + 1)};
  one.spec = "name: x\ntrain:\n  epochs: 5\n";
  one.data = "mnist, 60000 + 10000";
  one.communication = "auto";
  one.version = "0.1.0";
  one.libtorch = "2.11.0";
  return one;
}

RendezvousOptions options(double timeout, const std::string& token = kToken) {
  RendezvousOptions all;
  all.token = token;
  all.timeout_seconds = timeout;
  return all;
}

struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string text;  // the welcome, or the error
};

Outcome outcome_of(const std::function<std::string()>& body) {
  try {
    return {ExitCode::kDone, body()};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
}

// The leader, of ranks 0 and 1 of six on host a, and what it saw of strangers.
class Leader {
 public:
  explicit Leader(double timeout, const std::string& token = kToken, int64_t world = 6)
      : rendezvous_("127.0.0.1", 0) {
    outcome_ = std::async(std::launch::async, [this, timeout, token, world] {
      RendezvousOptions all = options(timeout, token);
      all.notice = [this](const std::string& line) { notices += line + "\n"; };
      return outcome_of([&] {
        links = rendezvous_.gather(
            member(0, 2, world, "a"), all,
            [](int64_t rank) { return std::string(rank < 4 ? "host b" : "host c"); },
            [this](const std::vector<Member>& members) {
              if (!refusal.empty()) throw Error(ExitCode::kUsage, refusal);
              return nlohmann::json{{"addresses", addresses_of(members)}, {"hosts", hosts_of_ranks(members)}};
            });
        return std::string("welcome");
      });
    });
  }
  uint16_t port() const { return rendezvous_.port(); }
  Outcome outcome() { return outcome_.get(); }

  std::vector<MemberLink> links;
  std::string notices;
  std::string refusal;  // set before the last member comes

 private:
  Rendezvous rendezvous_;
  std::future<Outcome> outcome_;
};

std::future<Outcome> join(uint16_t port, const Member& own, double timeout = 10,
                          const std::string& token = kToken) {
  return std::async(std::launch::async, [=] {
    return outcome_of(
        [&] { return join_rendezvous("127.0.0.1", port, own, options(timeout, token)).welcome; });
  });
}

TEST_CASE("who waits says at times for what") {
  RendezvousOptions all = options(0.3);
  all.notice_seconds = 0.05;
  std::vector<std::string> notices;
  all.notice = [&](const std::string& line) { notices.push_back(line); };
  const Listening nobody = listen_at("127.0.0.1", 0);  // takes connections, and says nothing
  const std::string port = std::to_string(nobody.port);
  const uint16_t closed = [] { return listen_at("127.0.0.1", 0).port; }();
  CHECK(outcome_of([&] {
          return join_rendezvous("127.0.0.1", closed, member(1, 1, 2, "b"), all).welcome;
        }).code == ExitCode::kPeerLost);
  REQUIRE_FALSE(notices.empty());
  CHECK_THAT(notices[0], ContainsSubstring("waiting for 127.0.0.1:" + std::to_string(closed) + ": ") &&
                             ContainsSubstring("(0 s)"));
  notices.clear();
  Rendezvous leader("127.0.0.1", 0);
  CHECK(outcome_of([&] {
          leader.gather(member(0, 1, 2, "a"), all, [](int64_t) { return "host b"; }, {});
          return "";
        }).code == ExitCode::kPeerLost);
  REQUIRE_FALSE(notices.empty());
  CHECK(notices[0] == "waiting for rank 1 (host b) (0 s)");
}

// The leader of six ranks, a third of which host b has, looks for those of host c.
class LaterLeader {
 public:
  LaterLeader() {
    all_.notice = [this](const std::string& line) { notices += line; };
  }
  Outcome outcome_of_joining(const Member& own, const std::string& token = kToken) {
    auto joined = join(rendezvous_.port(), own, 10, token);
    while (joined.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) look(/*waits=*/true);
    return joined.get();
  }
  void look(bool waits) {
    const auto welcome = [](const Member& one) {
      if (one.replicas != 2) throw Error(ExitCode::kUsage, "not all of a host");
      return nlohmann::json(one.host);
    };
    for (MemberLink& link :
         rendezvous_.look(member(0, 2, 6, "a"), all_, {member(2, 2, 6, "b")}, waits, welcome))
      came.push_back(std::move(link));
  }
  uint16_t port() const { return rendezvous_.port(); }

  std::string notices;
  std::vector<MemberLink> came;

 private:
  Rendezvous rendezvous_{"127.0.0.1", 0};
  RendezvousOptions all_ = options(10);
};

TEST_CASE("who comes later is welcomed, and who contradicts or has no token is turned away") {
  LaterLeader leader;
  leader.look(/*waits=*/false);
  CHECK(leader.came.empty());
  std::string why;
  const Descriptor silent = connect_to("127.0.0.1", leader.port(), 5, why);
  Member other = member(4, 2, 6, "c");
  other.spec = "name: another\n";
  Member both = other;
  both.first_rank = 2;
  const std::vector<std::tuple<Member, std::string, ExitCode, std::string>> strangers = {
      {other, kToken, ExitCode::kUsage, "has another spec than host a"},
      {both, kToken, ExitCode::kUsage, "has another spec than host a"},
      // It may be b itself, after a loss of power, which the leader has not noticed yet.
      {member(2, 2, 6, "c"), kToken, ExitCode::kPeerLost, "but host b (process 102) has ranks 2 to 3"},
      {member(4, 1, 6, "c"), kToken, ExitCode::kUsage, "not all of a host"},
      {member(4, 2, 6, "c"), "another secret of letters", ExitCode::kUsage, "another job token"},
  };
  for (const auto& [stranger, token, code, text] : strangers) {
    const Outcome refused = leader.outcome_of_joining(stranger, token);
    CHECK(refused.code == code);
    CHECK_THAT(refused.text, ContainsSubstring(text));
  }
  CHECK(leader.came.empty());
  CHECK(leader.outcome_of_joining(member(4, 2, 6, "c")).text == "\"c\"");
  REQUIRE(leader.came.size() == 1);
  CHECK(leader.came.front().member.first_rank == 4);
  CHECK_THAT(leader.notices,
             ContainsSubstring("turned away: host c") && ContainsSubstring("not all of a host"));
}

TEST_CASE("members that belong together are welcomed with everybody's addresses") {
  Leader leader(10);
  auto c = join(leader.port(), member(4, 2, 6, "c"));
  auto b = join(leader.port(), member(2, 2, 6, "b"));
  CHECK(leader.outcome().text == "welcome");
  for (const Outcome& joined : {b.get(), c.get()}) {
    INFO(joined.text);
    REQUIRE(joined.code == ExitCode::kDone);
    const auto addresses = nlohmann::json::parse(joined.text)["addresses"];
    CHECK(nlohmann::json::parse(joined.text)["hosts"] == std::vector<int>{0, 0, 1, 1, 2, 2});
    for (const char* address : {"10.0.0.1", "10.0.0.3", "10.0.0.5", "127.0.0.1"})
      CHECK(std::count(addresses.begin(), addresses.end(), address) == 1);
  }
  CHECK(leader.links.size() == 2);
  CHECK(leader.notices.empty());
}

TEST_CASE("at the deadline everybody hears who is missing") {
  Leader leader(0.5);
  auto c = join(leader.port(), member(4, 2, 6, "c"));
  const double start = steady_seconds();
  for (const Outcome& outcome : {leader.outcome(), c.get()}) {
    CHECK(outcome.code == ExitCode::kPeerLost);
    CHECK_THAT(outcome.text,
               ContainsSubstring("missing: ranks 2 to 3 (host b); here: ranks 0 to 1 on host a"));
  }
  CHECK(steady_seconds() - start < 5);
}

TEST_CASE("a leader that is not there is named at the deadline") {
  uint16_t port = 0;
  { port = listen_at("127.0.0.1", 0).port; }
  const Outcome outcome = join(port, member(2, 2, 6, "b"), 0.3).get();
  CHECK(outcome.code == ExitCode::kPeerLost);
  CHECK_THAT(outcome.text, ContainsSubstring("127.0.0.1:" + std::to_string(port)) &&
                               ContainsSubstring("Connection refused"));
}

TEST_CASE("members that contradict each other are refused, and all hear why") {
  Member odd = member(2, 2, 6, "b");
  std::string why, or_why;
  SECTION("another spec") {
    odd.spec = "name: x\ntrain:\n  epochs: 3\n";
    why =
        "host b (process 102) has another spec than host a (process 100): 'epochs: 3' instead of 'epochs: 5'";
  }
  SECTION("another version") {
    odd.version = "0.2.0";
    why = "dtrain 0.2.0 with LibTorch 2.11.0, but host a (process 100) has dtrain 0.1.0";
  }
  SECTION("another LibTorch") {
    odd.libtorch = "2.12.0";
    why = "LibTorch 2.12.0";
  }
  SECTION("other data") {
    odd.data = "fashion_mnist, 60000 + 10000";
    why = "the data fashion_mnist";
  }
  SECTION("a host without the others' GPUs") {
    odd.communication = "nccl";
    why = "communication: nccl for its devices, but host a (process 100) has auto; see `dtrain doctor`";
  }
  SECTION("another number of replicas") {
    odd.world_size = 8;
    odd.first_rank = 6;
    why = "a job of 8 replicas";
  }
  SECTION("a rank that is taken") {
    odd.first_rank = 3;
    why = "claims ranks 3 to 4, but host c (process 104) has ranks 4 to 5";
    or_why = "claims ranks 4 to 5, but host b (process 102) has ranks 3 to 4";  // of c, if it comes later
  }
  Leader leader(10);
  auto c = join(leader.port(), member(4, 2, 6, "c"));
  auto b = join(leader.port(), odd);
  const double start = steady_seconds();
  for (const Outcome& outcome : {leader.outcome(), b.get(), c.get()}) {
    CHECK(outcome.code == ExitCode::kUsage);
    CHECK_THAT(outcome.text, ContainsSubstring(why) || ContainsSubstring(or_why.empty() ? why : or_why));
  }
  CHECK(steady_seconds() - start < 8);
}

std::string received(const Descriptor& socket, size_t count) {
  std::string bytes(count, '\0');
  for (size_t got = 0; got < count;) {
    pollfd ready{socket.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 5000) == 1);
    const ssize_t more = ::recv(socket.get(), bytes.data() + got, count - got, 0);
    REQUIRE(more > 0);
    got += static_cast<size_t>(more);
  }
  return bytes;
}

TEST_CASE("a member that is gone before the others have come may come again") {
  Leader leader(10);
  {
    std::string why;
    const Descriptor socket = connect_to("127.0.0.1", leader.port(), 5, why);
    REQUIRE(socket.get() >= 0);
    const std::string challenge = received(socket, kChallengeBytes);
    const std::string nonce(kSha256Bytes, 'n');
    const std::string text = nonce + member_proof(kToken, challenge.substr(kGreeting.size()), nonce) +
                             to_line(member(2, 2, 6, "b")) + "\n";
    ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    received(socket, kSha256Bytes);
  }
  auto b = join(leader.port(), member(2, 2, 6, "b"));
  auto c = join(leader.port(), member(4, 2, 6, "c"));
  for (const Outcome& outcome : {leader.outcome(), b.get(), c.get()}) {
    INFO(outcome.text);
    CHECK(outcome.code == ExitCode::kDone);
  }
  CHECK(leader.links.size() == 2);
  CHECK(leader.notices == "host b (process 102) is gone again\n");
}

TEST_CASE("what keeps the leader from going on is told to all") {
  Leader leader(10, kToken, 4);
  leader.refusal = "runs/x: cannot make the folder";
  auto b = join(leader.port(), member(2, 2, 4, "b"));
  for (const Outcome& outcome : {leader.outcome(), b.get()}) {
    CHECK(outcome.code == ExitCode::kUsage);
    CHECK(outcome.text == "runs/x: cannot make the folder");
  }
}

TEST_CASE("a process of the first host finds it at its interface where its name is a loopback address") {
  CHECK(leader_address("lo", "localhost", /*elsewhere=*/true) == "127.0.0.1");
  CHECK(leader_to_join("lo", "localhost") == "127.0.0.1");
  CHECK(leader_to_join(std::nullopt, "localhost") == "localhost");
  CHECK(leader_to_join("lo", "192.0.2.1") == "192.0.2.1");  // another host
  CHECK(leader_to_join("lo", "127.0.0.2") == "127.0.0.2");  // several on one machine, for a trial
}

TEST_CASE("a member whose address is translated is told of, as the others cannot reach it") {
  Member b = member(2, 2, 4, "b");
  b.addresses = {"172.17.0.2", "fd00::2"};
  CHECK_THAT(translation_notice(b, "10.0.0.2"),
             ContainsSubstring("host b (process 102) comes from 10.0.0.2, which is none of its addresses "
                               "(172.17.0.2, fd00::2)") &&
                 ContainsSubstring("--network host"));
  for (const char* from : {"172.17.0.2", "fd00::2", "127.0.0.1", "::1", "fe80::2%eth0", ""})
    CHECK(translation_notice(b, from) == "");
}

TEST_CASE("hosts are counted by their names, wherever their ranks are") {
  std::vector<Member> members = {member(0, 1, 4, "a"), member(3, 1, 4, "b"), member(1, 1, 4, "b"),
                                 member(2, 1, 4, "a")};
  CHECK(hosts_of_ranks(members) == std::vector<int>{0, 1, 0, 1});
  // The same name does not make two machines one.
  members[2].machine = "another kernel";
  CHECK(hosts_of_ranks(members) == std::vector<int>{0, 1, 0, 2});
  CHECK_FALSE(are_host_by_host({0, 1, 0, 1}));
  CHECK_FALSE(are_host_by_host({0, 0, 1}));
  CHECK_FALSE(are_host_by_host({0, 1, 1}));
  CHECK(are_host_by_host({0, 0, 1, 1, 2, 2}));
  CHECK(are_host_by_host({0, 1, 2}));
  CHECK(are_host_by_host({0}));
}

TEST_CASE("another token, or none, is turned away at once, and the job goes on") {
  const std::string other = GENERATE("another secret of letters", "");
  Leader leader(10);
  const Outcome stranger = join(leader.port(), member(2, 2, 6, "b"), 10, other).get();
  CHECK(stranger.code == ExitCode::kUsage);
  CHECK_THAT(stranger.text, ContainsSubstring("another job token"));
  auto b = join(leader.port(), member(2, 2, 6, "b"));
  auto c = join(leader.port(), member(4, 2, 6, "c"));
  CHECK(leader.outcome().code == ExitCode::kDone);
  CHECK(b.get().code == ExitCode::kDone);
  CHECK(c.get().code == ExitCode::kDone);
  CHECK_THAT(leader.notices, ContainsSubstring("turned away a connection from 127.0.0.1"));
  CHECK(leader.notices.find(kToken) == std::string::npos);
}

TEST_CASE("whoever pretends to lead without the token learns nothing and is not believed") {
  const Listening false_leader = listen_at("127.0.0.1", 0);
  auto joined = join(false_leader.port, member(2, 2, 6, "b"), 5);
  std::string seen;
  while (seen.size() < 64 && joined.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout) {
    static Descriptor connection;
    if (seen.empty() && connection.get() < 0) {
      connection = Descriptor(::accept(false_leader.socket.get(), nullptr, nullptr));
      if (connection.get() >= 0) ::send(connection.get(), ("dtrain1\n" + std::string(32, 'n')).data(), 40, 0);
      continue;
    }
    char bytes[256];
    const ssize_t got = ::recv(connection.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) seen.append(bytes, static_cast<size_t>(got));
    if (seen.size() >= 64) ::send(connection.get(), std::string(32, 'm').data(), 32, 0);
  }
  const Outcome outcome = joined.get();
  CHECK(outcome.code == ExitCode::kUsage);
  CHECK_THAT(outcome.text, ContainsSubstring("another job token"));
  CHECK(seen.find(kToken) == std::string::npos);
}

TEST_CASE("strangers that are silent, talk nonsense, or are many do not disturb it") {
  Leader leader(20);
  std::vector<Descriptor> strangers;
  std::string why;
  for (int i = 0; i < 150; ++i) {
    strangers.push_back(connect_to("127.0.0.1", leader.port(), 5, why));
    REQUIRE(strangers.back().get() >= 0);
    const std::string noise(i % 3 == 0 ? 0 : i % 3 == 1 ? 100 : 20000, 'x');
    ::send(strangers.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (i % 5 == 0) strangers.back().reset();
  }
  auto b = join(leader.port(), member(2, 2, 6, "b"));
  auto c = join(leader.port(), member(4, 2, 6, "c"));
  CHECK(leader.outcome().code == ExitCode::kDone);
  CHECK(b.get().code == ExitCode::kDone);
  CHECK(c.get().code == ExitCode::kDone);
}

TEST_CASE("a member that is none is turned away") {
  CHECK_FALSE(parse_member(""));
  CHECK_FALSE(parse_member("[]"));
  CHECK_FALSE(parse_member("{}"));
  CHECK(parse_member(to_line(member(2, 2, 6, "b")))->first_rank == 2);
  Member bad = member(2, 2, 6, "b");
  SECTION("ranks beyond the end") { bad.first_rank = 5; }
  SECTION("no replicas") { bad.replicas = 0; }
  SECTION("a world that takes all memory") { bad.world_size = int64_t{1} << 60; }
  SECTION("ranks that overflow") {
    bad.first_rank = INT64_MAX;
    bad.replicas = 6;
  }
  SECTION("addresses that are none") { bad.addresses = {"a b"}; }
  SECTION("too many addresses") { bad.addresses.assign(65, "10.0.0.1"); }
  CHECK_FALSE(parse_member(to_line(bad)));
}

TEST_CASE("lines cross a link in both directions, and its end is noticed") {
  Leader leader(10, kToken, 4);
  auto joined = join_rendezvous("127.0.0.1", leader.port(), member(2, 2, 4, "b"), options(10));
  REQUIRE(leader.outcome().code == ExitCode::kDone);
  Link& there = leader.links.front().link;
  CHECK(joined.own_address == "127.0.0.1");
  joined.link.send("one");
  joined.link.send(std::string(100000, 'x'));
  CHECK(there.next(5) == "one");
  CHECK(there.next(5) == std::string(100000, 'x'));
  there.send("back");
  CHECK(joined.link.next(5) == "back");
  CHECK_FALSE(joined.link.next(0.05).has_value());
  CHECK_FALSE(joined.link.closed());
  leader.links.clear();
  CHECK_FALSE(joined.link.next(5).has_value());
  CHECK(joined.link.closed());
}

}  // namespace
}  // namespace dtrain
