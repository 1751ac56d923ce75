// Reads a job spec: YAML text, overrides, defaults, bounds, and the rules between fields.
#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "job_file/overrides.h"
#include "spec/spec.h"
#include "yaml/problem.h"

namespace dtrain {

// The position in its source where a field was written.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
};

// A spec and all problems found in it. The spec is usable only if `problems` is empty.
struct LoadedSpec {
  JobSpec spec;
  std::vector<Problem> problems;              // in the order of their positions
  std::map<std::string, Position> positions;  // of the fields that were written, by path; "" is the document
  std::vector<std::string> notes;  // a line for each field of the file that was dropped, or may not fit

  bool ok() const { return problems.empty(); }
  // A problem at the position of `path`, or of the nearest enclosing section that was written.
  Problem problem_at(const std::string& path, const std::string& text) const;
  // Adds a problem. The text is a format of fmt::format; without values it is not, and may contain braces.
  void refuse(const std::string& path, const std::string& text) {
    problems.push_back(problem_at(path, text));
  }
  template <class... Values>
  requires(sizeof...(Values) > 0) void refuse(const std::string& path, fmt::format_string<Values...> format,
                                              Values&&... values) {
    refuse(path, fmt::vformat(format, fmt::make_format_args(values...)));
  }
};

// Loads the plug-in in a file, once, adds its kinds to those that specs may have, and returns its name and
// version; throws Error(kUsage) if it cannot. If the plug-in with name and version `noted` was loaded from
// another file, it uses that one. A program sets this function once, before it reads a spec; without it, a
// spec with plug-ins is refused.
using LoadPlugin = std::function<std::string(const std::string& path, const std::string& noted)>;
void set_plugin_loader(LoadPlugin load);

// Adds a plug-in to those of every spec that is read from now on.
void add_plugin_to_specs(const std::string& path);

// Where relative paths start: those in the file, and those in overrides. Empty: as load_spec() says.
struct StartOfPaths {
  std::filesystem::path in_file;
  std::filesystem::path in_overrides;
};

// Reads `path` (at most 1 MiB; "-" is the standard input, and it may be a pipe) and applies the overrides.
// Relative paths become absolute: those in the spec start at its folder (those of a pipe at the working
// folder), those in overrides at the working folder. "${NAME}" is replaced by the environment variable. A
// file that cannot be read is also reported as a problem. `starts`: for a spec that lies elsewhere than where
// its paths start, such as a copy.
//
// An override may change a kind: the fields of the file that contradict only the new kind are dropped, each
// with a line in `notes`; a learning rate of another optimizer stays, with such a line. What contradicts
// itself within the file, or among the overrides, is a problem.
LoadedSpec load_spec(const std::filesystem::path& path, const Overrides& overrides = {},
                     const StartOfPaths& starts = {});

// The same for text in memory. Messages use `name` as the file name, and relative paths stay relative.
LoadedSpec parse_spec(const std::string& text, const std::string& name, const Overrides& overrides = {});

// Adds a problem if the job cannot have replicas on several hosts. `known`: what names them, "TF_CONFIG lists
// 3".
void check_spans_hosts(LoadedSpec& loaded, const std::string& known);

// Adds a problem if so many hosts cannot share the replicas evenly.
void check_even_share(LoadedSpec& loaded, int64_t replicas, int64_t hosts);

}  // namespace dtrain
