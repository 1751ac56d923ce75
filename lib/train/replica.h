// What one replica process does: the runs of a job that it takes part in.
#pragma once

#include "data/dataset.h"
#include "identity/identity.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "store/store.h"
#include "supervise/status_board.h"
#include "train/resume.h"

namespace dtrain {

// Takes part in one run as process `identity.rank` of run.processes(), which trains or serves variables
// (identity/role.h); collective over them. Rank 0's events go to `sink`; `board` has a slot for each process
// of this host. One that serves needs no data. Of `context`, what rank 0 has counts, but whether to resume
// all must know.
void run_replica(const JobPlan& job, const RunPlan& run, const Dataset& dataset, const Identity& identity,
                 const StorePtr& store, const RunContext& context, StatusBoard& board, EventSink& sink);

}  // namespace dtrain
