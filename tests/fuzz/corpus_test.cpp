// Reads the corpora that fuzzing starts from and what it once found.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "catch.h"
#include "files.h"
#include "fuzz/readers.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> corpus_of(const FuzzedReader& reader) {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(DTRAIN_SOURCE_DIR) / "tests/fuzz/corpus" / reader.name))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST_CASE("Every reader takes the valid files of its corpus and refuses the others", "[fuzz]") {
  for (const FuzzedReader& reader : fuzzed_readers()) {
    INFO(reader.name);
    int valid = 0, refused = 0;
    for (const fs::path& file : corpus_of(reader)) {
      INFO(file.filename());
      const bool should_be_valid = file.filename().string().rfind("valid", 0) == 0;
      CHECK(reader.read(content_of(file)) == should_be_valid);
      should_be_valid ? ++valid : ++refused;
    }
    CHECK(valid > 0);
    CHECK(refused > 0);
  }
}

TEST_CASE("Every reader survives its valid files cut off anywhere, and with any byte changed", "[fuzz]") {
  for (const FuzzedReader& reader : fuzzed_readers()) {
    INFO(reader.name);
    for (const fs::path& file : corpus_of(reader)) {
      const std::string whole = content_of(file);
      const size_t stride = std::max<size_t>(1, whole.size() / 100);
      for (size_t at = 0; at < whole.size(); at += stride) {
        INFO(file.filename() << ", byte " << at);
        CHECK_NOTHROW(reader.read(whole.substr(0, at)));
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0xff);
        CHECK_NOTHROW(reader.read(changed));
      }
    }
  }
}

}  // namespace
}  // namespace dtrain
