// What the tests of this room share: folders, IDX files and gzip made on the spot, and limits put on the
// process.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/error.h"

namespace dtrain::test {

// An environment variable set (nullptr: unset) until the end of the scope.
class Environment {
 public:
  Environment(const char* name, const char* value);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// The working folder until the end of the scope.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::filesystem::path& folder);
  ~WorkingFolder();
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  std::filesystem::path before_;
};

// Until the end of the scope the process may map only `bytes` more than now: an allocation beyond them fails.
class MemoryLimit {
 public:
  explicit MemoryLimit(int64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

// A 32-bit number as IDX writes it.
std::string word(uint32_t value);

// Whole IDX files. Pixel i of the file is i % 251, label i is i % 10.
std::string image_file(uint32_t count, uint32_t rows = 4, uint32_t columns = 3);
std::string label_file(uint32_t count);

// `content`, followed by `zeros` zero bytes, as gzip.
std::string gzip(const std::string& content, int64_t zeros = 0);

// The four files of an MNIST-like dataset in a new folder, with 10 test examples.
void write_dataset(const std::filesystem::path& folder, uint32_t train_examples = 20);

// The message of the Error that `action` throws; "no error" without one, and another text when its code is
// not `code`.
template <typename Action>
std::string error_of(Action&& action, ExitCode code = ExitCode::kData) {
  try {
    action();
  } catch (const Error& error) {
    if (error.code() == code) return error.what();
    return "exit code " + std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "no error";
}

}  // namespace dtrain::test
