// Finds the checkpoint for the commands that use a trained model.
#pragma once

#include <string>

#include "train/resume.h"

namespace dtrain {

// The checkpoint in the folder `path` (or the one that the file `path` is a part of), or the newest good one
// if `path` is the folder of a run. Prints a warning to stderr for each newer one that is not good. Throws
// Error(kCheckpoint) if there is none.
ResumePoint find_checkpoint(const std::string& path);

}  // namespace dtrain
