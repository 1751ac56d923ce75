// Asynchronous data parallelism: the variables live on servers, and each worker reads them, computes and
// sends its gradients back without waiting for other workers. tf.distribute's ParameterServerStrategy; Dean
// et al. 2012, Large Scale Distributed Deep Networks (Downpour SGD); Li et al. 2014, Scaling Distributed
// Machine Learning with the Parameter Server.
#pragma once

#include <memory>

#include "parameter_server/partition.h"
#include "strategy/strategy.h"

namespace dtrain {

// A worker's side; parameter_service.h is the server's. Every update is the mean over the worker's own share.
// What is no parameter (moving statistics) stays with each worker: evaluated are those of worker 0.
std::unique_ptr<Strategy> make_parameter_server(StrategyParts parts);

// How the parameters of `model` are divided: the same on workers and servers.
std::vector<ServerPart> partition_model(const Model& model, int servers, int64_t min_shard_bytes);

}  // namespace dtrain
