// What the commands that use a trained model begin with.
#pragma once

#include <string>

#include "train/resume.h"

namespace dtrain {

// The checkpoint in the folder `path` or, if that is a run's, its newest good one; each newer one that is not
// good is a warning on stderr. Throws Error(kCheckpoint) when there is none.
ResumePoint find_checkpoint(const std::string& path);

}  // namespace dtrain
