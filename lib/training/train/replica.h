// The work of one process in a run: it trains as a replica or serves variables.
#pragma once

#include "data/dataset.h"
#include "train/replica_context.h"

namespace dtrain {

// Takes part in the run as process `context.identity.rank`, whose role (launch/role.h) follows from the
// rank; collective over the processes of the run. One that serves variables needs no data.
void run_replica(const ReplicaContext& context, const Dataset& dataset);

}  // namespace dtrain
