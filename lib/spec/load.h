// Reads a job spec: YAML text, overrides, defaults, bounds and the rules between fields.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "spec/spec.h"
#include "yaml/problem.h"

namespace dtrain {

// Where in its source a field was written.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
};

// A spec with all that was found wrong with it. Usable only when `problems` is empty.
struct LoadedSpec {
  JobSpec spec;
  std::vector<Problem> problems;              // in the order of their positions
  std::map<std::string, Position> positions;  // by path, of what was written; "" is the document

  bool ok() const { return problems.empty(); }
  // A problem placed at `path`, or at the nearest enclosing field that was written.
  Problem problem_at(const std::string& path, const std::string& text) const;
};

// Reads `path` (at most 1 MiB) and applies overrides of the form "train.epochs=3" in order, the later
// winning. Relative paths are taken from the spec's folder (those of overrides from the working folder) and
// become absolute; "${NAME}" becomes the environment variable. A file that cannot be read is a problem too.
LoadedSpec load_spec(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});

// The same for text in memory; `name` stands for the file in messages, and relative paths stay as they are.
LoadedSpec parse_spec(const std::string& text, const std::string& name,
                      const std::vector<std::string>& overrides = {});

// The whole spec as YAML, every field that applies with its value; a valid spec reads back equal.
std::string print_spec(const JobSpec& spec);

}  // namespace dtrain
