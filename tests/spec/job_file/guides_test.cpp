// The specs that the first documents quote.
#include <regex>

#include "catch.h"
#include "core/files.h"
#include "job_file/load.h"

namespace dtrain {
namespace {

std::string text_of(const std::string& path) {
  return read_file(DTRAIN_SOURCE_DIR "/" + path, 1 << 20, ExitCode::kBug);
}

// What the blocks of YAML in `text` hold, one after the other.
std::string yaml_in(const std::string& text) {
  static const std::string kBegin = "```yaml\n";
  std::string all;
  for (size_t at = 0; (at = text.find(kBegin, at)) != std::string::npos;) {
    at += kBegin.size();
    const size_t end = text.find("```", at);
    all += text.substr(at, end - at);
    at = end;
  }
  return all;
}

TEST_CASE(
    "the pieces in the first part of docs/getting-started.md are the whole of configs/mnist_tutorial.yaml") {
  const std::string document = text_of("docs/getting-started.md");
  const std::string example = text_of("configs/mnist_tutorial.yaml");
  const size_t first_field = example.find("\nname:") + 1;  // after the comment
  CHECK(yaml_in(document.substr(0, document.find("\n## Several machines"))) == example.substr(first_field));
}

TEST_CASE("the spec of the README is valid and trains a list of layers") {
  const LoadedSpec loaded = parse_spec(yaml_in(text_of("README.md")), "README.md");
  REQUIRE(loaded.ok());
  CHECK(loaded.spec.model.layers.size() == 6);
}

// A spec around one of the phrasebook's phrases: "train: {...}", "optimizer: {...}", "seed: 42", "{kind:
// dense, ...}".
std::string spec_around(const std::string& phrase) {
  const std::string batch = "batch: {per_replica: 8}\n";
  if (phrase.front() == '{') return batch + "model: {kind: layers, layers: [" + phrase + "]}\n";
  if (phrase.rfind("optimizer:", 0) == 0) return batch + "train: {" + phrase + "}\n";
  return (phrase.rfind("batch:", 0) == 0 ? "" : batch) + phrase + "\n";
}

TEST_CASE("the fields in docs/phrasebook.md are fields of the spec, with values that they may have") {
  const std::string document = text_of("docs/phrasebook.md");
  const std::regex phrase("`((?:[a-z]+: )?\\{[^`]*\\}|seed: [0-9]+)`");
  size_t count = 0;
  for (std::sregex_iterator found(document.begin(), document.end(), phrase), end; found != end; ++found) {
    const std::string text = (*found)[1];
    if (text.find("...") != std::string::npos) continue;
    const LoadedSpec loaded = parse_spec(spec_around(text), "phrase");
    INFO(text << ": " << (loaded.ok() ? "" : loaded.problems.front().to_string()));
    CHECK(loaded.ok());
    ++count;
  }
  CHECK(count > 60);
}

}  // namespace
}  // namespace dtrain
