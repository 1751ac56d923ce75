
#include <fstream>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "metrics/jsonl.h"

namespace dtrain {
namespace {

const std::string kStays =
    R"({"event":"run_start","run":"baseline"}
{"event":"step","run":"baseline","epoch":9,"step":900}
{"event":"run_end","run":"baseline","status":"completed"}
{"event":"run_start","run":"distributed"}
{"event":"step","run":"distributed","epoch":1,"step":10}
{"event":"epoch","run":"distributed","epoch":1}
{"event":"eval","run":"distributed","epoch":1,"step":10}
{"event":"checkpoint","run":"distributed","epoch":1,"step":10}
{"event":"warning","run":"distributed","text":"x"}
{"event":"step","run":"distributed","epoch":2,"step":15}
{"event":"eval","run":"distributed","epoch":2,"step":15}
)";

TEST_CASE("what came after the moment goes, and the rest stays as it was") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  std::ofstream(file) << kStays << R"({"event":"step","run":"distributed","epoch":2,"step":16}
{"event":"checkpoint","run":"distributed","epoch":1,"step":18}
{"event":"epoch","run":"distributed","epoch":2}
{"event":"eval","run":"distributed","epoch":2,"step":20}
{"event":"run_end","run":"distributed","status":"stopped"}
{"event":"comparison","run":"distributed"}
{"event":"step","run":"distr)";
  std::string kept;
  const auto copy =
      rewind_metrics(file, 1, 15, [&](const Event& event) { kept += event_text(event) + "\n"; });
  CHECK_FALSE(copy);  // the last line was cut off, as a killed job leaves it
  CHECK(content_of(file) == kStays);
  CHECK(kept == kStays);
  rewind_metrics(file, 1, 15, [](const Event&) {});
  CHECK(content_of(file) == kStays);
}

TEST_CASE("the test at the end goes too, for it comes again, and the validation part's stays") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  const std::string stays =
      R"({"event":"eval","run":"baseline","part":"test","epoch":1,"step":10}
{"event":"eval","run":"distributed","part":"validation","epoch":1,"step":10}
)";
  std::ofstream(file) << stays << R"({"event":"eval","run":"distributed","part":"test","epoch":1,"step":10})"
                      << "\n";
  rewind_metrics(file, 1, 10, [](const Event&) {});
  CHECK(content_of(file) == stays);
}

TEST_CASE("an evaluation that is made again goes, and its epoch stays") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  const std::string stays =
      R"({"event":"eval","run":"distributed","part":"validation","epoch":1,"step":5}
{"event":"epoch","run":"distributed","epoch":2}
{"event":"checkpoint","run":"distributed","epoch":2,"step":10}
)";
  write_file(
      file, stays + R"({"event":"eval","run":"distributed","part":"validation","epoch":2,"step":10})" + "\n");
  rewind_metrics(
      file, 2, 10, [](const Event&) {}, /*unevaluated=*/true);
  CHECK(content_of(file) == stays);
}

TEST_CASE("a file with lines that are no events is kept beside the new one") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  const std::string damaged = kStays + "not JSON\n" + std::string("\0\xff\n", 3);
  write_file(file, damaged);
  std::filesystem::create_hard_link(file, folder.path() / "old");
  CHECK(rewind_metrics(file, 1, 15, [](const Event&) {}) == folder.path() / "metrics.damaged.jsonl");
  // However large it is, it is not written again.
  CHECK(std::filesystem::equivalent(folder.path() / "metrics.damaged.jsonl", folder.path() / "old"));
  CHECK(content_of(file) == kStays);
  CHECK(content_of(folder.path() / "metrics.damaged.jsonl") == damaged);
  write_file(file, "again\n");
  CHECK(rewind_metrics(file, 1, 15, [](const Event&) {}) == folder.path() / "metrics.damaged-2.jsonl");
  CHECK(content_of(folder.path() / "metrics.damaged.jsonl") == damaged);
}

TEST_CASE("a file goes back in pieces, and what a killed or failed attempt has written goes") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl", beside = folder.path() / "metrics.jsonl.rewound";
  const std::string text(700'000, 'x');
  const std::string warning = R"({"event":"warning","run":"distributed","text":")" + text + "\"}\n";
  const std::string stays = warning + warning + warning + kStays;
  const std::string all = stays + R"({"event":"step","run":"distributed","epoch":2,"step":16})" + "\n";
  write_file(file, all);
  int64_t kept = 0;
  const auto fails_late = [&](const Event&) {
    if (++kept == 4) throw Error(ExitCode::kDisk, "full");
  };
  CHECK_THROWS_WITH(rewind_metrics(file, 1, 15, fails_late), "full");
  CHECK((content_of(file) == all));  // not 2 MB of text in a failure
  CHECK_FALSE(std::filesystem::exists(beside));
  write_file(beside, all + all);
  rewind_metrics(file, 1, 15, [](const Event&) {});
  CHECK((content_of(file) == stays));
  CHECK_FALSE(std::filesystem::exists(beside));
}

TEST_CASE("a file that is not there cannot go back") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(rewind_metrics(folder.path() / "none", 0, 0, [](const Event&) {}), Error);
}

}  // namespace
}  // namespace dtrain
