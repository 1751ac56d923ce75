// Reads a spec that lies elsewhere than where its paths start, such as a copy.
#pragma once

#include "job_file/load.h"

namespace dtrain {

// Where relative paths start: those in the file, and those in overrides. Empty: as load_spec() says.
struct StartOfPaths {
  std::filesystem::path in_file;
  std::filesystem::path in_overrides;
};

LoadedSpec load_spec(const std::filesystem::path& path, const Overrides& overrides,
                     const StartOfPaths& starts);

}  // namespace dtrain
