// How the processes of a parameter-server run find each other and what a server does.
#pragma once

#include "comm/store.h"
#include "launch/role.h"
#include "launch/status_board.h"
#include "strategy/strategy.h"
#include "train/job_plan.h"

namespace dtrain {

// Connects worker `worker` of the run to every server of it.
ServerAccess connect_to_servers(const JobPlan& job, const RunPlan& run, int64_t worker,
                                const StorePtr& store);

// Serves the run's workers as its server `server`, until all have ended. `local_rank` is its place on the
// board.
void serve_parameters(const JobPlan& job, const RunPlan& run, int64_t server, int local_rank,
                      const StorePtr& store, StatusBoard& board);

}  // namespace dtrain
