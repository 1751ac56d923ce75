// schema, and that the spec's tables and those of the rooms that build things agree.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "catch.h"
#include "command_line.h"
#include "data/dataset.h"
#include "files.h"
#include "models/layers.h"
#include "spec/fields.h"
#include "strategy/strategy.h"

namespace dtrain {
namespace {

std::set<std::string> set_of(const std::vector<std::string>& names) {
  std::set<std::string> all(names.begin(), names.end());
  CHECK(all.size() == names.size());  // none twice
  return all;
}

TEST_CASE("the schema is one that an editor's YAML server takes") {
  const Outcome outcome = dtrain_command({"schema"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
  const auto schema = nlohmann::json::parse(outcome.output);
  CHECK_THAT(schema["$schema"].get<std::string>(), ContainsSubstring("draft-07"));
  CHECK(schema["type"] == "object");
  for (const auto& field : job_fields()) {
    INFO(field.path);
    const nlohmann::json* at = &schema;
    for (size_t begin = 0; begin < field.path.size();) {
      const size_t end = std::min(field.path.find('.', begin), field.path.size());
      const std::string name = field.path.substr(begin, end - begin);
      REQUIRE((*at)["properties"].contains(name));
      at = &(*at)["properties"][name];
      begin = end + 1;
    }
    CHECK(at->contains("description"));
  }
}

TEST_CASE("docs/spec.md is what schema --markdown prints") {
  const std::string document = content_of(DTRAIN_SOURCE_DIR "/docs/spec.md");
  INFO("renew it with: dtrain schema --markdown > docs/spec.md");
  CHECK((dtrain_command({"schema", "--markdown"}).output == document));  // without both in a failure
}

TEST_CASE("docs/metrics.md has what schema --events prints, once") {
  const std::string document = content_of(DTRAIN_SOURCE_DIR "/docs/metrics.md");
  const std::string events = dtrain_command({"schema", "--events"}).output;
  const auto line = [](const std::string& text, size_t at) {
    return text.substr(at, text.find('\n', at) - at);
  };
  const std::string first = line(events, 0);
  const std::string last = line(events, events.rfind('\n', events.size() - 2) + 1);
  REQUIRE(first.rfind("<!--", 0) == 0);
  REQUIRE(last.rfind("<!--", 0) == 0);
  const size_t begin = document.find(first), end = document.find(last);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  INFO("renew what is between the two comments with: dtrain schema --events");
  CHECK((document.substr(begin, end + last.size() + 1 - begin) == events));
  CHECK(document.find(first, begin + 1) == std::string::npos);
  CHECK(dtrain_command({"schema", "--events", "--markdown"}).exit_code == 2);
}

TEST_CASE("a spec accepts exactly what is built") {
  CHECK(set_of(strategy_kinds().built) == set_of(strategy_names()));
  CHECK(set_of(dataset_kinds().built) == set_of(dataset_names()));
  CHECK(set_of(layer_kinds().built) == set_of(layer_kinds_built()));
}

}  // namespace
}  // namespace dtrain
