// Says of a folder that a user names and that is not there what may be meant.
#pragma once

#include <filesystem>

#include "core/error.h"

namespace dtrain {

// Throws Error(code) if `path` is no folder, with the folders beside it that may be meant.
void require_folder(const std::filesystem::path& path, ExitCode code);

}  // namespace dtrain
