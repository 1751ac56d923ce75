// How the processes of a parameter-server run find each other and what a server does.
#pragma once

#include "comm/process_group.h"
#include "comm/store.h"
#include "launch/role.h"
#include "launch/status_board.h"
#include "metrics/event.h"
#include "strategy/strategy.h"
#include "train/job_plan.h"

namespace dtrain {

// Where a process of the run meets the others: at `store`, and with sockets in `network`.
struct MeetingPlace {
  const JobPlan& job;
  const RunPlan& run;
  const StorePtr& store;
  const GroupNetwork& network;
};

// Connects worker `worker` of the run, which was started again `restart` times, to every server of it.
ServerAccess connect_to_servers(const MeetingPlace& place, int64_t worker, int restart);

// Serves the run's workers as its server `server`, until all have ended. `local_rank` is its place on the
// board. `sink` hears of a worker that was given up ("worker_given_up", launch/failure.h).
void serve_parameters(const MeetingPlace& place, int64_t server, int local_rank, StatusBoard& board,
                      EventSink& sink);

}  // namespace dtrain
