#include "train/meeting.h"

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "plan/planned_jobs.h"

namespace dtrain {
namespace {

constexpr auto kTimeout = std::chrono::milliseconds(5000);

StorePtr client_of(const HostedStore& hosted) { return connect_store("127.0.0.1", hosted.port, kTimeout); }

TEST_CASE("a replica says that rank 0 has not told the launcher's store where it listens, and gives up") {
  const HostedStore agent = host_store("127.0.0.1", 0, kTimeout);
  const JobPlan job = plan_of(
      "batch: {per_replica: 4}\nstrategy: {kind: mirrored}\nnetwork: {rendezvous_timeout_seconds: 1}\n", 2);
  Identity identity = local_identity(1, 2, "");
  identity.agent_store = true;
  identity.master_address = "127.0.0.1";
  identity.master_port = agent.port;
  std::vector<std::string> notices;
  MeetingOptions options{.token = "", .notice = [&](const std::string& line) { notices.push_back(line); }};
  options.notice_seconds = 0.1;
  std::optional<Error> failure;
  try {
    meet_replicas(job, identity, options);
  } catch (const Error& error) {
    failure = error;
  }
  REQUIRE(failure);
  CHECK(failure->code() == ExitCode::kPeerLost);
  CHECK_THAT(std::string(failure->what()),
             ContainsSubstring("rank 0 did not say within 1.0 s where it listens"));
  REQUIRE_FALSE(notices.empty());
  CHECK_THAT(notices.front(),
             ContainsSubstring("waiting for rank 0, which has not told the store at 127.0.0.1:" +
                               std::to_string(agent.port)));
}

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

// One that rank 0 ends as soon as it has said that the job is complete.
class EndingStore : public c10d::HashStore {
 public:
  int64_t add(const std::string& key, int64_t) override { throw std::runtime_error("no store for " + key); }
};

TEST_CASE("once the job is complete nobody needs rank 0") {
  const StorePtr store = c10::make_intrusive<EndingStore>();
  set_key(store, "complete");
  CHECK_NOTHROW(await_completion(store, 3));
}

}  // namespace
}  // namespace dtrain
