#include "spec/fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "catch.h"
#include "core/files.h"
#include "documentation/document.h"
#include "job_file/load.h"
#include "job_file/print.h"

namespace dtrain {
namespace {

using nlohmann::json;

template <class Spec>
void check_table(const Fields<Spec>& fields) {
  std::set<std::string> paths;
  for (const auto& field : fields) {
    INFO(field.path);
    CHECK(paths.insert(field.path).second);
    CHECK_FALSE(field.doc.empty());
    CHECK(find_field(fields, field.path) == &field);
    std::set<std::string> unknown(field.when.values.begin(), field.when.values.end());
    for (const auto& selector : field.when.paths) {
      const auto* const found = find_field(fields, selector);
      REQUIRE(found != nullptr);
      for (const auto& choice : found->choices->built) unknown.erase(choice);
    }
    CHECK(unknown.empty());
    const auto value = to_json(field, Spec{});
    if (field.required) continue;
    if (value.is_null()) CHECK_FALSE(field.otherwise.empty());
    if (value.is_number()) CHECK(field.bounds.contain(value.template get<double>()));
    if (value.is_string() && field.choices && value != field.word)
      CHECK(std::count(field.choices->built.begin(), field.choices->built.end(),
                       value.template get<std::string>()) == 1);
    if (value.is_array()) {
      CHECK(value.size() >= field.length.least);
      CHECK(value.size() <= field.length.most);
      for (const auto& item : value)
        CHECK((item.is_string() || field.bounds.contain(item.template get<double>())));
    }
  }
}

TEST_CASE("the tables are sound: unique paths, words for every field, defaults within their own bounds") {
  check_table(job_fields());
  check_table(entry_list<LayerSpec>().fields);
  check_table(entry_list<AugmentSpec>().fields);
}

TEST_CASE("a layer's fields are those of its kind") {
  const EntryList<LayerSpec>& layers = entry_list<LayerSpec>();
  CHECK(layers.fields_of_kind("dense") ==
        std::vector<std::string>{"kind", "units", "use_bias", "activation", "initializer", "name", "from"});
  CHECK(layers.fields_of_kind("relu") == std::vector<std::string>{"kind", "name", "from"});
}

TEST_CASE("bounds include their ends unless open") {
  const Bounds closed{0, 1};
  CHECK(closed.contain(0));
  CHECK(closed.contain(1));
  const Bounds open{0, 1, true, true};
  CHECK_FALSE(open.contain(0));
  CHECK(open.contain(0.5));
  CHECK_FALSE(open.contain(1));
  CHECK(bounds_text(open) == "above 0, below 1");
  CHECK(bounds_text(closed) == "0 to 1");
  CHECK(Bounds{}.contain(-1e300));
}

TEST_CASE("numbers print as the shortest text that every YAML reader takes for a number") {
  CHECK(number_text(60) == "60");
  CHECK(number_text(0.001) == "0.001");
  CHECK(number_text(1e-8) == "1.0e-08");
  CHECK(number_text(2.5e300) == "2.5e+300");
}

TEST_CASE("the schema describes every field, with its default and bounds") {
  const json schema = json::parse(json_schema());
  for (const auto& field : job_fields()) {
    INFO(field.path);
    json::json_pointer at;
    for (size_t begin = 0; begin < field.path.size();) {
      const size_t end = std::min(field.path.find('.', begin), field.path.size());
      at /= "properties";
      at /= field.path.substr(begin, end - begin);
      begin = end + 1;
    }
    REQUIRE(schema.contains(at));
    CHECK_THAT(schema[at].at("description").get<std::string>(), ContainsSubstring(field.doc));
    CHECK_FALSE(schema[at.parent_pointer().parent_pointer()].at("additionalProperties").get<bool>());
    const auto value = to_json(field, JobSpec{});
    // `otherwise` tells of a default that is not the same for all kinds.
    const bool has_default = !value.is_null() && !field.required && field.otherwise.empty();
    CHECK(schema[at].contains("default") == has_default);
    if (has_default) CHECK(schema[at].at("default") == json(value));
  }
  for (const auto& field : entry_list<LayerSpec>().fields)
    CHECK(schema["definitions"]["layer"]["properties"].contains(field.path));
  const json& replicas = schema["properties"]["strategy"]["properties"]["replicas"]["anyOf"];
  CHECK(replicas[0] == json{{"type", "integer"}, {"minimum", 1}, {"maximum", 1024}});
  CHECK(replicas[1] == json{{"enum", {"auto"}}});
}

TEST_CASE("docs/spec.md is what the fields' descriptions say") {
  const std::string document = read_file(DTRAIN_SOURCE_DIR "/docs/spec.md", 1 << 20, ExitCode::kBug);
  INFO("stale: run  dtrain schema --markdown > docs/spec.md");
  CHECK((document == spec_markdown()));
  for (const auto& field : job_fields()) {
    INFO("what the document does not say: " << field.doc);
    CHECK((document.find("| " + field.doc) != std::string::npos));  // without the whole document in a failure
  }
}

TEST_CASE("docs/spec.md begins with the ten fields that most specs need, and its example sets just these") {
  const std::string document = spec_markdown();
  const std::string heading = "## What most specs need\n";
  const size_t begin = document.find("```yaml\n", document.find(heading)) + 8;
  const std::string example = document.substr(begin, document.find("```", begin) - begin);
  const LoadedSpec loaded = parse_spec(example, "example");
  REQUIRE(loaded.ok());
  const size_t all_fields = document.find("\n## ", begin);
  size_t common = 0;
  for (const auto& field : job_fields()) {
    INFO(field.path);
    CHECK((document.find("\n| `" + field.path + "` | ", begin) < all_fields) == field.common);
    CHECK(loaded.positions.contains(field.path) == field.common);
    common += field.common ? 1 : 0;
  }
  CHECK(common == 10);
}

}  // namespace
}  // namespace dtrain
