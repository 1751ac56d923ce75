// The objects that one process of a run works with.
#pragma once

#include "initial_state/resume.h"
#include "launch/identity.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "processes/status_board.h"
#include "store/store.h"

namespace dtrain {

// All of it outlives the process's part in the run.
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

}  // namespace dtrain
