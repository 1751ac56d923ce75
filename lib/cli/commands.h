// The subcommands, each a function over its parsed options. They throw Error; cli.cpp turns that into a line
// and a code.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/error.h"

namespace dtrain {

struct SpecOptions {
  std::string spec;
  std::vector<std::string> overrides;  // path=value
};

struct RunOptions {
  SpecOptions spec;
  std::optional<std::string> run_directory;
  bool overwrite = false;
  bool quiet = false;
  bool json = false;
};

ExitCode run_command(const RunOptions& options);
ExitCode validate_command(const std::vector<std::string>& specs, const std::vector<std::string>& overrides,
                          bool json);
ExitCode plan_command(const SpecOptions& options, bool json);
ExitCode schema_command(bool markdown);
ExitCode replica_command(const std::string& spec, const std::string& run);

}  // namespace dtrain
