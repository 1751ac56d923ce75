// The command line without a new program: in a child of the tests, which costs milliseconds.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace dtrain {

struct Outcome {
  int exit_code = 0;  // 128 + N when signal N ended it
  std::string output;
  std::string errors;
  double cpu_seconds = 0;
  bool started_processes = false;
};

// Where and how a command runs.
struct Surroundings {
  std::filesystem::path folder;  // the working folder; the tests' own when empty
  std::map<std::string, std::string>
      environment;     // added, after those of launchers and DTRAIN_DATA are removed
  std::string output;  // standard output goes to this file instead
};

// Runs `dtrain arguments...` to its end, for at most a minute.
Outcome dtrain_command(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

// A new folder that goes with its object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "dtrain-cli-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed for " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }
  // Writes a file in it and returns its path.
  std::string write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

}  // namespace dtrain
