#include "train/meeting.h"

#include <optional>
#include <thread>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

constexpr auto kTimeout = std::chrono::milliseconds(5000);

StorePtr client_of(const HostedStore& hosted) { return connect_store("127.0.0.1", hosted.port, kTimeout); }

TEST_CASE("replicas leave when rank 0 has said that the job is complete") {
  const HostedStore hosted = host_store("127.0.0.1", 0, kTimeout);
  std::vector<std::thread> others;
  for (int rank = 1; rank < 3; ++rank)
    others.emplace_back([store = client_of(hosted)] { await_completion(store, 3); });
  announce_completion(hosted.store, 3, kTimeout);
  for (std::thread& other : others) other.join();
  CHECK(hosted.store->check({"everyone knows"}));
}

TEST_CASE("a replica that cannot know whether the job is complete says so") {
  std::optional<HostedStore> hosted = host_store("127.0.0.1", 0, kTimeout);
  const StorePtr store = client_of(*hosted);
  std::optional<Error> failure;
  std::thread other([&] {
    try {
      await_completion(store, 2);
    } catch (const Error& error) {
      failure = error;
    }
  });
  hosted.reset();  // rank 0 dies at the very end
  other.join();
  REQUIRE(failure);
  CHECK(failure->code() == ExitCode::kPeerLost);
  CHECK_THAT(std::string(failure->what()),
             ContainsSubstring("rank 0 ended before it had said that the job is complete"));
}

TEST_CASE("once the job is complete nobody needs rank 0") {
  std::optional<HostedStore> hosted = host_store("127.0.0.1", 0, kTimeout);
  const StorePtr store = client_of(*hosted);
  set_key(hosted->store, "complete");
  wait_for_key(store, "complete");
  std::thread rank0([&] { hosted.reset(); });
  CHECK_NOTHROW(await_completion(store, 3));  // sooner or later than the store's end
  rank0.join();
}

}  // namespace
}  // namespace dtrain
