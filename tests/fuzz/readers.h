// The readers of files from strangers, one function each: for libFuzzer, and for tests that read the corpora.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dtrain {

struct FuzzedReader {
  std::string name;  // also that of its folder in tests/fuzz/corpus
  // Reads `bytes` as the content of such a file. Returns whether they were valid. Bytes that are not must
  // end in a dtrain::Error that a user caused; any other exception is a bug, and is not caught.
  std::function<bool(const std::string& bytes)> read;
};

const std::vector<FuzzedReader>& fuzzed_readers();

// Throws std::out_of_range for a name that is not in the table.
const FuzzedReader& fuzzed_reader(const std::string& name);

}  // namespace dtrain
