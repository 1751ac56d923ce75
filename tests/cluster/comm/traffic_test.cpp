#include "comm/traffic.h"

#include <sys/socket.h>

#include <string>

#include "catch.h"
#include "core/sockets.h"

namespace dtrain {
namespace {

TEST_CASE("the kernel counts what went over sockets") {
  const Listening listening = listen_at("127.0.0.1", 0);
  std::string why;
  Descriptor client = connect_to("127.0.0.1", listening.port, 5, why);
  REQUIRE(client.get() >= 0);
  int accepted = -1;
  while (accepted < 0) accepted = ::accept(listening.socket.get(), nullptr, nullptr);
  const Descriptor server(accepted);

  const std::string sent(100'000, 'x');
  std::string received(sent.size(), ' ');
  size_t out = 0, in = 0;
  while (in < sent.size()) {
    const ssize_t put =
        ::send(client.get(), sent.data() + out, sent.size() - out, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put > 0) out += static_cast<size_t>(put);
    const ssize_t got = ::recv(server.get(), received.data() + in, received.size() - in, MSG_DONTWAIT);
    if (got > 0) in += static_cast<size_t>(got);
  }
  CHECK(traffic_of({client.get()}).sent == 100'000);
  CHECK(traffic_of({client.get()}).received == 0);
  CHECK(traffic_of({server.get()}).received == 100'000);
  CHECK(traffic_of({client.get(), server.get()}).sent == 100'000);

  const Listening elsewhere = listen_at("127.0.0.2", 0);
  const Descriptor other = connect_to("127.0.0.2", elsewhere.port, 5, why);
  const auto links = links_of({client.get(), server.get(), other.get(), -1});
  REQUIRE(links.size() == 2);
  const HostLink& link = links.at("127.0.0.1");
  CHECK(link.bytes.sent == 100'000);
  CHECK(link.bytes.received == 100'000);
  CHECK(link.least_round_trip_us > 0);
  CHECK(link.least_round_trip_us <= link.round_trip_us);
  CHECK(link.round_trip_us < 1e6);
  CHECK(link.bytes_per_second > 0);
  CHECK(links.at("127.0.0.2").bytes.sent == 0);

  const int closed = client.get();
  client.reset();
  CHECK(traffic_of({closed, -1}).sent == 0);
  CHECK(links_of({closed, -1}).empty());
}

}  // namespace
}  // namespace dtrain
