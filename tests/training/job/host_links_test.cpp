#include "job/host_links.h"

#include <future>

#include "catch.h"
#include "core/signals.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

SuperviseResult ended(ExitCode code, const std::string& reason) {
  SuperviseResult result;
  result.code = code;
  result.first_failing_rank = 3;
  result.message = reason + "\nand where";
  result.reason = reason;
  result.cause = "killed";
  result.step = 120;
  result.evidence = Evidence::kWasSilent;
  return result;
}

TEST_CASE("how a host ended comes through whole") {
  std::optional<SuperviseResult> end;
  const auto line = end_line(ended(ExitCode::kMemory, "rank 3 failed first: out of memory"), 2);
  take_end(nlohmann::json::parse(line.dump()), 2, end);
  REQUIRE(end);
  CHECK(end->code == ExitCode::kMemory);
  CHECK(end->first_failing_rank == 3);
  CHECK(end->message == "rank 3 failed first: out of memory\nand where");
  CHECK(end->reason == "rank 3 failed first: out of memory");
  CHECK(end->cause == "killed");
  CHECK(end->step == 120);
  CHECK(end->evidence == Evidence::kWasSilent);
}

TEST_CASE("what a host says of another attempt is no news, and the first word counts") {
  std::optional<SuperviseResult> end;
  take_end(end_line(ended(ExitCode::kPeerLost, "late"), 1), 2, end);
  CHECK_FALSE(end);
  take_end(end_line(ended(ExitCode::kBug, "first"), 2), 2, end);
  take_end(end_line(ended(ExitCode::kPeerLost, "second"), 2), 2, end);
  REQUIRE(end);
  CHECK(end->reason == "first");
}

TEST_CASE("a stop counts whenever it comes") {
  for (const std::optional<int64_t> attempt : {std::optional<int64_t>(), std::optional<int64_t>(1)}) {
    std::optional<SuperviseResult> end = ended(ExitCode::kPeerLost, "rank 0 was lost");
    take_end(end_line(ended(ExitCode::kStopped, "stopped"), attempt), 2, end);
    CHECK(end->code == ExitCode::kStopped);
  }
}

TEST_CASE("lines that are no such word change nothing") {
  std::optional<SuperviseResult> end;
  for (const char* text :
       {"[]", "1", "{}", R"({"end": 4})", R"({"end": {"code": 4}})", R"({"end": {"code": "4"}})"})
    take_end(nlohmann::json::parse(text), 0, end);
  CHECK_FALSE(end);
}

// The second of two hosts, which has ended its replicas well, and the first one's end of the link to it.
class WaitingHost {
 public:
  WaitingHost() {
    const JobHosts leader = hosts(0);
    const Member own = PresentHosts(job_, leader).own_member("127.0.0.1");
    const RendezvousOptions options = rendezvous_options(job_.spec, leader.meeting);
    auto links = std::async(std::launch::async, [&] {
      return leader_.gather(
          own, options, [](int64_t) { return ""; },
          [](const std::vector<Member>&) {
            return nlohmann::json{{"address", "127.0.0.1"}, {"folder", "run"}};
          });
    });
    host_.emplace(job_, hosts_);
    links_ = links.get();
    verdict_ = std::async(std::launch::async, [this] { return host_->report({}, stop_signals_received()); });
  }
  bool waits(double seconds) {
    return verdict_.wait_for(std::chrono::duration<double>(seconds)) == std::future_status::timeout;
  }
  void tell(const SuperviseResult& verdict) { links_.front().link.send(line_of({{"over", verdict}})); }
  void lose_leader() { links_.clear(); }
  std::optional<SuperviseResult> verdict() { return verdict_.get(); }

 private:
  JobHosts hosts(int index) const {
    return {.place = {.hosts = {"127.0.0.1", "127.0.0.2"}, .index = index, .port = leader_.port()},
            .meeting = {.token = "", .notice = [](const std::string&) {}}};
  }

  const JobPlan job_ = small_job({"strategy.kind=multi_worker_mirrored", "strategy.replicas=2",
                                  "strategy.timeout_seconds=0.5", "checkpoint.final=false"});
  Rendezvous leader_{"127.0.0.1", 0};
  const JobHosts hosts_ = hosts(1);
  std::optional<FollowingHost> host_;
  std::vector<MemberLink> links_;
  std::future<std::optional<SuperviseResult>> verdict_;
};

TEST_CASE("a host that is done waits for the first however long others train") {
  WaitingHost host;
  CHECK(host.waits(10));  // after a failure it would be 8.5 s
  host.tell(ended(ExitCode::kDiverged, "worker 0 failed first"));
  const auto verdict = host.verdict();
  REQUIRE(verdict);
  CHECK(verdict->code == ExitCode::kDiverged);
}

TEST_CASE("a host that is done waits no more when the first is gone") {
  WaitingHost host;
  host.lose_leader();
  const auto verdict = host.verdict();
  REQUIRE(verdict);
  CHECK(verdict->code == ExitCode::kPeerLost);
  CHECK_THAT(verdict->message,
             ContainsSubstring("host 127.0.0.1, which leads") && ContainsSubstring("is gone"));
}

}  // namespace
}  // namespace dtrain
