// How the processes of a parameter-server run find each other and what a server does.
#pragma once

#include "comm/process_group.h"
#include "identity/role.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "store/store.h"
#include "strategy/strategy.h"
#include "supervise/status_board.h"

namespace dtrain {

// Where a process of the run meets the others: at `store`, and with sockets in `network`.
struct MeetingContext {
  const JobPlan& job;
  const RunPlan& run;
  const StorePtr& store;
  const GroupNetwork& network;
};

// Connects worker `worker` of the run, which was started again `restart` times, to every server of it.
ServerConnections connect_to_servers(const MeetingContext& context, int64_t worker, int restart);

// Serves the run's workers as its server `server`, until all have ended. `local_rank` is its place on the
// board. `sink` hears of a worker that was given up ("worker_given_up", supervise/diagnosis.h).
void serve_parameters(const MeetingContext& context, int64_t server, int local_rank, StatusBoard& board,
                      EventSink& sink);

}  // namespace dtrain
