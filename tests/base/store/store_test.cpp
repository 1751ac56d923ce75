#include "store/store.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <c10/util/Exception.h>

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr auto kServerTimeout = std::chrono::milliseconds(2000);

bool answers(const char* address, uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  inet_pton(AF_INET, address, &name.sin_addr);
  const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
  ::close(fd);
  return connected;
}

TEST_CASE("values set at one end are read at the other") {
  const HostedStore hosted = host_store("127.0.0.1", 0, kServerTimeout);
  const StorePtr client = connect_store("127.0.0.1", hosted.port, kServerTimeout);
  client->set("key", std::vector<uint8_t>{1, 2, 3});
  CHECK(hosted.store->get("key") == std::vector<uint8_t>{1, 2, 3});
}

TEST_CASE("the store listens on its own address only") {
  const HostedStore hosted = host_store("127.0.0.1", 0, kServerTimeout);
  CHECK(answers("127.0.0.1", hosted.port));
  CHECK_FALSE(answers("127.0.0.2", hosted.port));  // loopback too, but another address
}

TEST_CASE("stores at port 0 never collide, and a taken port is an error that names it") {
  const HostedStore first = host_store("127.0.0.1", 0, kServerTimeout);
  const HostedStore second = host_store("127.0.0.1", 0, kServerTimeout);
  CHECK(first.port != second.port);
  try {
    host_store("127.0.0.1", first.port, kServerTimeout);
    FAIL("the port is taken");
  } catch (const Error& error) {
    CHECK_THAT(std::string(error.what()), ContainsSubstring(std::to_string(first.port)));
  }
}

TEST_CASE("nobody at the store's address is an error within the timeout") {
  uint16_t free_port = 0;
  { free_port = host_store("127.0.0.1", 0, kServerTimeout).port; }
  try {
    connect_store("127.0.0.1", free_port, std::chrono::milliseconds(300));
    FAIL("nobody was there");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    CHECK_THAT(std::string(error.what()), ContainsSubstring("connecting to the store at 127.0.0.1"));
  }
}

TEST_CASE("waiting for a key ends when it is set, and fails when the store goes away") {
  auto hosted = std::make_unique<HostedStore>(host_store("127.0.0.1", 0, kServerTimeout));
  const StorePtr client = connect_store("127.0.0.1", hosted->port, kServerTimeout);
  hosted->store->set("ready", std::vector<uint8_t>{1});
  wait_for_key(client, "ready");
  std::thread ends([&hosted] { hosted.reset(); });
  CHECK_THROWS_AS(wait_for_key(client, "never"), Error);
  ends.join();
}

TEST_CASE("ranks meet when all are there, whatever the order, and else the missing ones are listed") {
  const HostedStore hosted = host_store("127.0.0.1", 0, kServerTimeout);
  const auto client = [&] { return connect_store("127.0.0.1", hosted.port, kServerTimeout); };
  std::thread one([&] { wait_for_ranks(client(), 1, 2, kServerTimeout); });
  CHECK_NOTHROW(wait_for_ranks(client(), 0, 2, kServerTimeout));
  one.join();
  try {
    wait_for_ranks(client(), 0, 5, std::chrono::milliseconds(200));  // 0 and 1 came before
    FAIL("three were not there");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kPeerLost);
    CHECK_THAT(std::string(error.what()), ContainsSubstring("ranks 2, 3, 4 had not arrived"));
  }
}

// The second of two ranks is at work during the first waits for it, and then comes, or is gone.
class WaitingStore : public c10d::HashStore {
 public:
  explicit WaitingStore(bool comes) : comes_(comes) {}
  int waits = 0;
  using c10d::HashStore::wait;
  void wait(const std::vector<std::string>& /*keys*/, const std::chrono::milliseconds& /*timeout*/) override {
    constexpr int kAtWork = 3;
    ++waits;
    if (waits > kAtWork && comes_) return;
    if (waits <= kAtWork) add("work", 1);
    C10_THROW_ERROR(DistStoreError, "wait timeout");
  }

 private:
  bool comes_;
};

TEST_CASE("ranks wait for one that is at work, and no longer when it says so no more") {
  const auto late = c10::make_intrusive<WaitingStore>(true), gone = c10::make_intrusive<WaitingStore>(false);
  CHECK_NOTHROW(wait_for_ranks(late, 0, 2, kServerTimeout));
  CHECK(late->waits == 4);
  try {
    wait_for_ranks(gone, 0, 2, kServerTimeout);
    FAIL("it is gone");
  } catch (const Error& error) {
    CHECK_THAT(std::string(error.what()), ContainsSubstring("rank 1 had not arrived"));
  }
  CHECK(gone->waits == 4);
}

TEST_CASE("who is at work is heard at the same prefix of the store only") {
  const HostedStore hosted = host_store("127.0.0.1", 0, kServerTimeout);
  const StorePtr one = c10::make_intrusive<c10d::PrefixStore>("one", hosted.store);
  note_work(one);
  note_work(one);
  CHECK(one->add("work", 0) == 2);
  CHECK(hosted.store->add("work", 0) == 0);
}

}  // namespace
}  // namespace dtrain
