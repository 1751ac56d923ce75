// The text cases: tests/specs/bad are refused with the messages that they state, tests/specs/good are
// accepted, and printing them loses nothing.
#include <algorithm>

#include "catch.h"
#include "job_file/print.h"
#include "spec_cases.h"

namespace dtrain {
namespace {

// `expected` begins the message; its pieces around " ... " follow in order.
bool matches(const std::string& message, const std::string& expected) {
  static const std::string kGap = " ... ";
  size_t from = 0;
  for (size_t begin = 0; begin <= expected.size();) {
    const size_t end = std::min(expected.find(kGap, begin), expected.size());
    const size_t at = message.find(expected.substr(begin, end - begin), from);
    if (at == std::string::npos || (begin == 0 && at != 0)) return false;
    from = at + end - begin;
    begin = end + kGap.size();
  }
  return true;
}

TEST_CASE("every bad spec is refused with the messages it states, no more and no fewer") {
  const auto cases = read_cases("bad");
  CHECK(cases.size() >= 60);
  for (const SpecCase& bad : cases) {
    INFO(bad.path.filename().string());
    const LoadedSpec loaded = load_spec(bad.path, bad.overrides);
    INFO("problems:\n" << problems_of(loaded));
    REQUIRE_FALSE(bad.expected.empty());
    CHECK(loaded.problems.size() == bad.expected.size());
    for (const std::string& expected : bad.expected) {
      INFO("expected: " << expected);
      CHECK(std::any_of(loaded.problems.begin(), loaded.problems.end(), [&](const Problem& problem) {
        return matches(without_file(problem, bad.path.string()), expected);
      }));
    }
  }
}

TEST_CASE("every good spec is accepted and survives printing unchanged") {
  const auto cases = read_cases("good");
  CHECK(cases.size() >= 12);
  for (const SpecCase& good : cases) {
    INFO(good.path.filename().string());
    const LoadedSpec loaded = load_spec(good.path, good.overrides);
    CHECK(problems_of(loaded) == "");
    std::vector<std::string> notes;
    for (const std::string& note : loaded.notes) {
      const std::string of_file = " of " + good.path.string() + " dropped";
      notes.push_back(std::string(note).erase(note.find(of_file), of_file.size()));
    }
    CHECK(notes == good.notes);
    const std::string printed = print_spec(loaded.spec);
    INFO(printed);
    const LoadedSpec again = parse_spec(printed, "printed");
    CHECK(problems_of(again) == "");
    CHECK(all_values(again.spec) == all_values(loaded.spec));
    CHECK(print_spec(again.spec) == printed);
  }
}

}  // namespace
}  // namespace dtrain
