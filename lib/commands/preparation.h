// What a user sees while pictures are put into the cache.
#pragma once

#include "plan/job_plan.h"

namespace dtrain {

// prepare_dataset() for the job, with its progress on standard error: a line that changes on a terminal,
// elsewhere one line if it takes long. `quiet`: shows nothing.
void prepare_data(const JobPlan& job, bool quiet);

}  // namespace dtrain
