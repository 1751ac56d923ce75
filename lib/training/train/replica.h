// The work of one process in a run: it trains as a replica or serves variables.
#pragma once

#include "data/dataset.h"
#include "initial_state/resume.h"
#include "launch/identity.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "processes/status_board.h"
#include "store/store.h"

namespace dtrain {

// What it works with. All of it outlives the process's part in the run.
struct ReplicaContext {
  const JobPlan& job;
  const RunPlan& run;
  const Identity& identity;  // its rank is one of run.processes()
  const StorePtr& store;     // where the processes of the run meet
  const RunContext& files;   // what rank 0 has counts, but all must know whether to resume
  StatusBoard& board;        // has a slot for each process of this host
  EventSink& sink;           // takes the events of rank 0, and of servers

  bool leads() const { return identity.rank == 0; }
};

// Takes part in the run as process `context.identity.rank`, whose role (launch/identity.h) follows from the
// rank; collective over the processes of the run. One that serves variables needs no data.
void run_replica(const ReplicaContext& context, const Dataset& dataset);

}  // namespace dtrain
