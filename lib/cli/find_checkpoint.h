// Finds the runs and checkpoints that a user names.
#pragma once

#include <filesystem>
#include <string>

#include "core/error.h"
#include "train/resume.h"

namespace dtrain {

// Throws Error(code) if `path` is no folder, with the folders beside it that may be meant.
void require_folder(const std::filesystem::path& path, ExitCode code);

// The checkpoint in the folder `path` (or the one that the file `path` is a part of), or the newest good one
// if `path` is the folder of a run. Prints a warning to stderr for each newer one that is not good. Throws
// Error(kCheckpoint) if there is none.
ResumePoint find_checkpoint(const std::string& path);

}  // namespace dtrain
