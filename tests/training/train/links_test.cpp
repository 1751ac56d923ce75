// What the hosts of a run know of the links between them. All are this one, at addresses of loopback.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "catch.h"
#include "core/sockets.h"
#include "small_jobs.h"
#include "train/replica.h"

namespace dtrain {
namespace {

class SilentSink : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

std::string address_of(int host) { return fmt::format("127.0.0.{}", host + 1); }

sockaddr_in named(const std::string& address, uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  REQUIRE(::inet_pton(AF_INET, address.c_str(), &name.sin_addr) == 1);
  return name;
}

// The sockets of each host, of which some are connected.
class Sockets {
 public:
  // The first host sends `bytes` to the second.
  void connect(int first, int second, size_t bytes) {
    const Listening listening = listen_at(address_of(second), 0);
    Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in from = named(address_of(first), 0), to = named(address_of(second), listening.port);
    REQUIRE(::bind(client.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0);
    REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    Descriptor server(::accept(listening.socket.get(), nullptr, nullptr));
    std::string sent(bytes, 'x');
    REQUIRE(::send(client.get(), sent.data(), bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes));
    REQUIRE(::recv(server.get(), sent.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes));
    of_host[first].push_back(client.get());
    of_host[second].push_back(server.get());
    open_.push_back(std::move(client));
    open_.push_back(std::move(server));
  }
  std::map<int, std::vector<int>> of_host;

 private:
  std::vector<Descriptor> open_;
};

// What rank `rank`, the only one of its host, gets.
std::optional<std::vector<LinkSummary>> links_for(int rank, int hosts, const StorePtr& store,
                                                  const std::vector<int>& sockets) {
  const JobPlan job = small_job({"strategy.kind=mirrored", fmt::format("strategy.replicas={}", hosts)});
  Identity identity;
  identity.rank = identity.host = rank;
  identity.world_size = identity.hosts = hosts;
  identity.own_address = address_of(rank);
  const auto board = StatusBoard::create(1);
  SilentSink sink;
  return links_between_hosts({job, job.distributed_run(), identity, store, RunContext(), *board, sink},
                             sockets);
}

TEST_CASE("rank 0 gets the links between all hosts, by address where hosts have one name") {
  Sockets sockets;
  sockets.connect(0, 1, 1000);
  sockets.connect(1, 0, 10);
  sockets.connect(0, 1, 5);
  sockets.connect(2, 0, 2000);
  sockets.connect(2, 1, 3000);
  sockets.connect(1, 1, 7);  // inside a host
  const StorePtr store = c10::make_intrusive<c10d::HashStore>();
  for (const int rank : {2, 1}) CHECK_FALSE(links_for(rank, 3, store, sockets.of_host[rank]));
  const auto links = links_for(0, 3, store, sockets.of_host[0]);
  REQUIRE(links);
  REQUIRE(links->size() == 3);
  struct Expected {
    int first, second;
    int64_t sent, received;
  };
  const std::vector<Expected> expected = {{0, 1, 1005, 10}, {0, 2, 0, 2000}, {1, 2, 0, 3000}};
  for (size_t i = 0; i < expected.size(); ++i) {
    const LinkSummary& link = links->at(i);
    const Expected& known = expected[i];
    CHECK(link.hosts == std::vector{address_of(known.first), address_of(known.second)});
    CHECK(link.bytes_sent == known.sent);
    CHECK(link.bytes_received == known.received);
    CHECK(link.retransmitted_bytes == 0);
    CHECK(link.least_round_trip_ms > 0.0);
    CHECK(link.least_round_trip_ms <= link.round_trip_ms);
  }
}

TEST_CASE("a host that tells nothing sensible costs only its own links") {
  Sockets sockets;
  sockets.connect(0, 1, 1000);
  const StorePtr store = c10::make_intrusive<c10d::HashStore>();
  store->set("distributed/links of rank 1", "half a");
  const auto links = links_for(0, 2, store, sockets.of_host[0]);
  REQUIRE(links);
  REQUIRE(links->size() == 1);
  CHECK(links->front().bytes_sent == 1000);
}

TEST_CASE("one host has no links") {
  Sockets sockets;
  sockets.connect(0, 1, 1000);
  CHECK_FALSE(links_for(0, 1, c10::make_intrusive<c10d::HashStore>(), sockets.of_host[0]));
}

}  // namespace
}  // namespace dtrain
