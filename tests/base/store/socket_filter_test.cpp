#include "store/socket_filter.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "catch.h"
#include "comm/gloo_group.h"
#include "core/error.h"
#include "core/sockets.h"
#include "store/store.h"

namespace dtrain {
namespace {

// Whether a connection to 127.0.0.1:`port` from 127.0.0.1 is answered; a dropped packet is not.
bool answers(uint16_t port) {
  std::string why;
  return connect_to("127.0.0.1", port, 0.2, why).get() >= 0;
}

TEST_CASE("only the hosts of the list can connect") {
  const Listening listening = listen_at("127.0.0.1", 0);
  const int socket = listening.socket.get();
  CHECK(answers(listening.port));
  admit_only(socket, {"10.0.0.1", "127.0.0.1", "fe80::1"});
  CHECK(answers(listening.port));
  admit_only(socket, {"10.0.0.1", "fe80::1"});
  CHECK_FALSE(answers(listening.port));
  admit_only(socket, {});
  CHECK_FALSE(answers(listening.port));
  std::vector<std::string> many;
  for (int i = 0; i < 1500; ++i)
    many.push_back("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250));
  admit_only(socket, many);
  CHECK_FALSE(answers(listening.port));
  many.push_back("127.0.0.1");
  admit_only(socket, many);
  CHECK(answers(listening.port));
}

TEST_CASE("over IPv6 too") {
  const Listening listening = [] {
    try {
      return listen_at("::1", 0);
    } catch (const Error&) {  // a machine without it
      return Listening{};
    }
  }();
  if (listening.socket.get() < 0) return;
  std::string why;
  const auto answers_6 = [&] { return connect_to("::1", listening.port, 0.2, why).get() >= 0; };
  admit_only(listening.socket.get(), {"10.0.0.1", "fe80::1", "::2"});
  CHECK_FALSE(answers_6());
  admit_only(listening.socket.get(), {"10.0.0.1", "fe80::1", "::1"});
  CHECK(answers_6());
}

TEST_CASE("what is no address, or more than fit, is refused") {
  const Listening listening = listen_at("127.0.0.1", 0);
  CHECK_THROWS_AS(admit_only(listening.socket.get(), {"host"}), Error);
  CHECK_THROWS_AS(admit_only(listening.socket.get(), std::vector<std::string>(3000, "10.0.0.1")), Error);
}

TEST_CASE("sockets that a library opens are found") {
  Listening listening;
  const auto opened = sockets_opened_by([&] { listening = listen_at("127.0.0.1", 0); });
  CHECK(std::count(opened.begin(), opened.end(), listening.socket.get()) == 1);
  CHECK(is_listening(listening.socket.get()));
  std::string why;
  const Descriptor client = connect_to("127.0.0.1", listening.port, 1, why);
  CHECK_FALSE(is_listening(client.get()));
}

TEST_CASE("a store that admits nobody else is like one that is not there") {
  const HostedStore hosted = host_store("127.0.0.1", 0, std::chrono::seconds(5));
  hosted.admit({"10.0.0.1"});
  CHECK_FALSE(answers(hosted.port));
  hosted.admit({"127.0.0.1"});
  CHECK_NOTHROW(connect_store("127.0.0.1", hosted.port, std::chrono::seconds(5)));
}

// A connection from `source` to a port of 127.0.0.1; none when it is not answered.
Descriptor connect_from(const char* source, uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  inet_pton(AF_INET, source, &name.sin_addr);
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
  name.sin_port = htons(port);
  ::connect(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name);
  pollfd done{socket.get(), POLLOUT, 0};
  return ::poll(&done, 1, 200) == 1 && (done.revents & POLLERR) == 0 ? std::move(socket) : Descriptor();
}

uint16_t port_of(int socket) {
  sockaddr_in name{};
  socklen_t length = sizeof name;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &length);
  return ntohs(name.sin_port);
}

// A gloo group of two ranks that lets `members` in and has to work. `meanwhile` gets the ports on which the
// first listens while it waits for the second.
void with_two_ranks(const std::vector<std::string>& members,
                    const std::function<void(const std::vector<uint16_t>&)>& meanwhile) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::string> failures(2);
  const auto rank = [&](int number) {
    GroupNetwork network;
    network.members = members;
    try {
      at::Tensor ones = at::ones({4});
      const auto group = make_gloo_group(store, number, 2, std::chrono::seconds(20), network);
      group->all_reduce_sum(ones);
      if (ones.sum().item<float>() != 8) failures[static_cast<size_t>(number)] = "a wrong sum";
    } catch (const std::exception& error) {
      failures[static_cast<size_t>(number)] = error.what();
    }
  };
  std::thread first;
  std::vector<uint16_t> ports;
  const auto opened = sockets_opened_by([&] {
    first = std::thread(rank, 0);
    // It tells where it listens before it waits.
    while (store->getNumKeys() == 0) std::this_thread::yield();
  });
  for (const int socket : opened) {
    if (is_listening(socket)) ports.push_back(port_of(socket));
  }
  meanwhile(ports);
  std::thread second(rank, 1);
  first.join();
  second.join();
  CHECK(failures == std::vector<std::string>(2));
}

TEST_CASE("hosts that are no members do not reach gloo's ports, and the group works") {
  with_two_ranks({"127.0.0.1"}, [](const std::vector<uint16_t>& ports) {
    REQUIRE_FALSE(ports.empty());
    for (const uint16_t port : ports) {
      CHECK(connect_from("127.0.0.2", port).get() < 0);
      CHECK(connect_from("127.0.0.1", port).get() >= 0);
    }
  });
}

TEST_CASE("connections to gloo's ports that are silent, closed or talk nonsense do not break the group") {
  std::vector<Descriptor> strangers;
  with_two_ranks({}, [&](const std::vector<uint16_t>& ports) {
    REQUIRE_FALSE(ports.empty());
    for (int i = 0; i < 30; ++i) {
      Descriptor stranger = connect_from("127.0.0.1", ports.front());
      REQUIRE(stranger.get() >= 0);
      const std::string nonsense(i % 3 == 0 ? 0 : 100, 'x');
      ::send(stranger.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
      if (i % 2 == 0) strangers.push_back(std::move(stranger));
    }
  });
}

}  // namespace
}  // namespace dtrain
