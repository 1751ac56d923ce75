// The rules between fields.
#pragma once

#include "job_file/load.h"

namespace dtrain {

// Adds the problems of fields that contradict each other. A rule complains about what was written, never
// about a default. It ignores fields that already have a problem.
void check_rules(LoadedSpec& loaded);

}  // namespace dtrain
