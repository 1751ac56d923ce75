// The text cases of tests/specs: a spec whose first comment lines say what to set and what to expect.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job_file/load.h"

namespace dtrain {

struct SpecCase {
  std::filesystem::path path;
  Overrides overrides;                // "# set: path=value", "# unset: path"
  std::vector<std::string> expected;  // "# expect: LINE:COLUMN: path: text", " ... " stands for anything
  std::vector<std::string> notes;     // "# note: path: text": what is dropped of the file, and why
};

// The cases of a folder ("good", "bad"), by name. Sets the environment variables that they ask for with
// "# env: NAME=value".
std::vector<SpecCase> read_cases(const std::string& folder);

// A problem as the cases write it: without the file's name, unless that is "--set".
std::string without_file(const Problem& problem, const std::string& file);

// Every field of a spec with its value, for comparison.
std::string all_values(const JobSpec& spec);

// A text's problems, one a line.
std::string problems_of(const LoadedSpec& loaded);

}  // namespace dtrain
