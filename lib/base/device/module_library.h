// Where the libraries are that the program loads while it runs, because most jobs do without them.
#pragma once

#include <filesystem>
#include <optional>

namespace dtrain {

// The module `file` of this installation: what the environment variable `variable` names, else the file
// beside the program or in ../lib/dtrain; nullopt if it is in neither.
std::optional<std::filesystem::path> find_module_library(const char* variable, const char* file);

}  // namespace dtrain
