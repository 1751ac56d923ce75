// How the processes of a parameter-server run find each other and what a server does.
#pragma once

#include "strategy/strategy.h"
#include "train/replica.h"

namespace dtrain {

// Connects this worker of the run to every server.
ServerConnections connect_to_servers(const ReplicaContext& context);

// Serves the run's workers as its server `server`, until all have ended. The sink hears of a worker that was
// given up ("worker_given_up", processes/diagnosis.h).
void serve_parameters(const ReplicaContext& context, int64_t server);

}  // namespace dtrain
