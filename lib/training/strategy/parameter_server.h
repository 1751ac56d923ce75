// Asynchronous data parallelism: the variables live on servers, and each worker reads them, computes
// gradients and sends them back without waiting for other workers. Corresponds to tf.distribute's
// ParameterServerStrategy; see Dean et al. 2012, Large Scale Distributed Deep Networks (Downpour SGD); Li et
// al. 2014, Scaling Distributed Machine Learning with the Parameter Server.
#pragma once

#include <memory>

#include "parameter_server/partition.h"
#include "strategy/strategy.h"

namespace dtrain {

// The worker's side; parameter_service.h has the server's. Every update is made from the mean gradient over
// the worker's own share. Buffers (moving statistics) stay on each worker; evaluations use those of worker 0.
std::unique_ptr<Strategy> make_parameter_server(StrategyParts parts);

// How the parameters of `model` are divided among the servers; the same result on workers and servers.
std::vector<ServerPart> partition_model(const Model& model, int servers, int64_t min_shard_bytes);

}  // namespace dtrain
