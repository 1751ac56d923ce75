// Says of a folder that a user names and that is not there what may be meant.
#pragma once

#include <filesystem>

#include "core/error.h"

namespace dtrain {

// Throws Error(code) if `from` is no folder, with the folders beside it that may be meant.
void require_folder(const std::filesystem::path& from, ExitCode code);

}  // namespace dtrain
