// The specs that the first documents quote.
#include "catch.h"
#include "core/files.h"
#include "spec/load.h"

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

}  // namespace
}  // namespace dtrain
