#include "metrics/jsonl.h"

#include <cmath>
#include <fstream>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "metrics/events.h"

using namespace dtrain;

namespace {

std::vector<Event> parsed_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Event> events;
  for (std::string line; std::getline(file, line);) events.push_back(Event::parse(line));
  return events;
}

Event step(int64_t number, double loss) {
  auto event = begin_event<StepEvent>("distributed");
  event.step = number;
  event.metrics = {{"loss", loss}};
  return encode(event);
}

}  // namespace

TEST_CASE("every event is a line in the file as soon as it was given") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  JsonLinesFile file(path);
  file.on_event(step(1, 0.1));
  CHECK(parsed_lines(path).size() == 1);
  file.on_event(step(2, std::nan("")));
  const auto events = parsed_lines(path);
  REQUIRE(events.size() == 2);
  CHECK(events[0]["loss"].get<double>() == 0.1);
  CHECK(events[1]["loss"] == "nan");
  CHECK(content_of(path).back() == '\n');
}

TEST_CASE("progress is for eyes only") {
  const TemporaryFolder folder;
  JsonLinesFile file(folder.path() / "metrics.jsonl");
  file.on_event(encode(begin_event<ProgressEvent>("baseline")));
  CHECK(content_of(folder.path() / "metrics.jsonl").empty());
}

TEST_CASE("a file that is removed or replaced can be written again, with all that it had") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  JsonLinesFile file(path);
  file.on_event(step(1, 1));
  CHECK(file.is_in_place());
  std::filesystem::remove(path);
  CHECK_FALSE(file.is_in_place());
  file.on_event(step(2, 2));
  file.write_again();
  CHECK(file.is_in_place());
  write_file(folder.path() / "other", "");
  std::filesystem::rename(folder.path() / "other", path);
  CHECK_FALSE(file.is_in_place());
  file.write_again();
  file.on_event(step(3, 3));
  CHECK(parsed_lines(path).size() == 3);
}

TEST_CASE("events are appended to those of before") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  JsonLinesFile(path).on_event(step(1, 1));
  JsonLinesFile(path).on_event(step(2, 2));
  CHECK(parsed_lines(path).size() == 2);
}

TEST_CASE("a line that a killed job left half is ended first") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  std::ofstream(path) << "{\"event\":\"step\"}\n{\"eve";
  JsonLinesFile(path).on_event(step(1, 1));
  const std::string text = content_of(path);
  const std::string start = "{\"event\":\"step\"}\n{\"eve\n{";
  CHECK(text.substr(0, start.size()) == start);
  CHECK_NOTHROW(Event::parse(text.substr(start.size() - 1)));
}

TEST_CASE("a full disk is an error once") {
  JsonLinesFile file("/dev/full");
  try {
    file.on_event(step(1, 1));
    FAIL("the write should have failed");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDisk);
    CHECK_THAT(error.what(), ContainsSubstring("/dev/full"));
    CHECK_THAT(error.what(), ContainsSubstring("No space left"));
  }
  CHECK_NOTHROW(file.on_event(step(2, 1)));
}

TEST_CASE("a file that cannot be opened is an error that names it") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(JsonLinesFile(folder.path()), Error);
  CHECK_THROWS_AS(JsonLinesFile(folder.path() / "absent" / "metrics.jsonl"), Error);
}
