// The command line without a new program: in a child of the tests, which costs milliseconds.
#pragma once

#include <filesystem>
#include <map>
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
  bool without_proc = false;
};

// In place of an exit code: the command was not run, because /proc cannot be hidden here (hidden_proc.h).
constexpr int kProcStays = 125;

// Runs `dtrain arguments...` to its end, for at most a minute, or five under sanitizers.
Outcome dtrain_command(const std::vector<std::string>& arguments, const Surroundings& surroundings = {});

}  // namespace dtrain
