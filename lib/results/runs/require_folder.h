// Says of a folder that a user names and that is not there what may be meant.
#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"

namespace dtrain {

// Throws Error(code) if `from` is no folder, with the folders beside it that may be meant.
void require_folder(const std::filesystem::path& from, ExitCode code);

// The same of the folder of a run, or of a part of it: a folder that holds runs is refused, too, with `usage`
// for the newest of them. RUN stands for it there: "dtrain eval RUN".
void require_run(const std::filesystem::path& from, ExitCode code, const std::string& usage);

}  // namespace dtrain
