#include "runs/receipts.h"

#include "catch.h"
#include "core/error.h"
#include "files.h"

namespace dtrain {
namespace {

using Catch::Matchers::StartsWith;

Event receipt_of(int64_t step) {
  const std::string number = std::to_string(step);
  return {
      {"step", step},
      {"examples", "e" + number},
      {"replicas", {"r0-" + number, "r1-" + number, "r2-" + number}},
      {"gradient", {{"a.weight", "g0-" + number}, {"a.bias", "g1-" + number}, {"b.weight", "g2-" + number}}},
      {"weights", {{"a.weight", "w0-" + number}, {"a.bias", "w1-" + number}, {"b.weight", "w2-" + number}}}};
}

// The lines of so many steps, each a multiple of ten.
std::string lines_of(int64_t count) {
  std::string lines, last;
  for (int64_t i = 1; i <= count; ++i) lines += chained_line(receipt_of(10 * i), last);
  return lines;
}

// What the two say that differ in one step.
std::string difference_of(const Event& other) {
  std::vector<Event> one, two;
  for (int64_t i = 1; i <= 4; ++i) one.push_back(receipt_of(10 * i));
  two = one;
  two[2] = other;
  return compare_receipts(one, two).text();
}

TEST_CASE("receipts are read as they were written, also while more are being written") {
  const TemporaryFolder run;
  const std::string lines = lines_of(3);
  const size_t first = lines.find('\n') + 1;
  ReceiptReader reader(run.path());
  CHECK(reader.read().empty());
  run.write(kReceiptsFile, lines.substr(0, first + 20));
  CHECK(reader.read().size() == 1);
  run.write(kReceiptsFile, lines);
  const std::vector<Event> rest = reader.read();
  REQUIRE(rest.size() == 2);
  CHECK(rest[1] == receipt_of(30));
  ReceiptReader some(run.path());
  CHECK(some.read(Range{15, 21}) == std::vector<Event>{receipt_of(20)});
  CHECK(some.first_step() == 10);
  CHECK(some.last_step() == 30);
  CHECK(read_receipts(run.path(), Range{15, 21}).size() == 1);
  CHECK_THROWS_WITH(read_receipts(run.path(), Range{31, 50}),
                    ContainsSubstring("its first is of step 10, its last of step 30"));
}

TEST_CASE("a run without receipts says how to get some") {
  const TemporaryFolder run;
  CHECK_THROWS_WITH(read_receipts(run.path()), ContainsSubstring("--set receipts.every_steps=50"));
}

TEST_CASE("a line that was changed, left out or added is found") {
  const TemporaryFolder run;
  const std::string lines = lines_of(3);
  const size_t second = lines.find('\n') + 1, third = lines.find('\n', second) + 1;
  const auto fails_with = [&](const std::string& text, const std::string& said) {
    run.write(kReceiptsFile, text);
    CHECK_THROWS_WITH(read_receipts(run.path()), ContainsSubstring(said));
    try {
      read_receipts(run.path());
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
    }
  };
  for (const char* hash : {"e10", "r1-20", "g2-30", "w0-10"}) {
    std::string changed = lines;
    changed[changed.find(hash) + 1] ^= 1;
    fails_with(changed, "is not as it was written");
  }
  fails_with(lines.substr(0, second) + lines.substr(third), "line 2, of step 30, does not follow");
  fails_with("{}\n" + lines, "line 1 is no receipt");
  fails_with("nonsense\n", "line 1 is no receipt");
}

TEST_CASE("of two runs, the first step that differs and all that differs in it are named") {
  const std::string same = "steps 10 to 20: the same (2 receipts)\nstep 30: differs in ";
  Event other = receipt_of(30);
  CHECK(difference_of(other) == "steps 10 to 40: the same (4 receipts)\n");
  other["weights"]["a.bias"] = "x";
  CHECK(difference_of(other) == same + "the weights of a.bias\n");
  other["gradient"]["a.weight"] = other["gradient"]["b.weight"] = "x";
  CHECK(difference_of(other) ==
        same + "the combined gradient of b.weight and 1 more, then in the weights of a.bias\n");
  other["replicas"][1] = "x";
  CHECK_THAT(difference_of(other), StartsWith(same + "the gradient of replica 1, then in the combined"));
  other["replicas"][2] = "x";
  CHECK_THAT(difference_of(other), StartsWith(same + "the gradient of replicas 1, 2, then in the combined"));
  other["examples"] = "x";
  CHECK_THAT(difference_of(other), StartsWith(same + "the examples, then in the gradient of replicas 1, 2"));
  other = receipt_of(30);
  other["replicas"].erase(2);  // other parts of the same examples
  CHECK(difference_of(other) == "steps 10 to 40: the same (4 receipts)\n");
  other["weights"].erase("b.weight");
  CHECK(difference_of(other) == same + "the weights of b.weight\n");
}

TEST_CASE("only steps of which both have a receipt are compared") {
  const std::vector<Event> one = {receipt_of(10), receipt_of(20), receipt_of(30)};
  const std::vector<Event> two = {receipt_of(5), receipt_of(20), receipt_of(25)};
  CHECK(compare_receipts(one, two).text() ==
        "steps 20 to 20: the same (1 receipt)\n"
        "skipped 4 receipts of steps for which the other side has none\n");
  const std::vector<Event> shorter = {receipt_of(10)};
  for (const auto& comparison : {compare_receipts(one, shorter), compare_receipts(shorter, one)})
    CHECK(comparison.document() ==
          Event{{"same", true}, {"receipts", 1}, {"passed_over", 2}, {"steps", {10, 10}}});
  CHECK_THROWS_AS(compare_receipts(one, {receipt_of(7)}), Error);
}

}  // namespace
}  // namespace dtrain
