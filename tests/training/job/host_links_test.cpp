#include "job/host_links.h"

#include "catch.h"

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

}  // namespace
}  // namespace dtrain
