// The kinds of strategies that strategy.cpp makes.
#pragma once

#include <memory>
#include <vector>

#include "parameter_server/partition.h"
#include "strategy/strategy.h"

namespace dtrain {

// Synchronous data parallelism: every replica keeps a copy of all variables, gradients are summed over the
// replicas in every step, and all replicas apply the same update. Corresponds to
// tf.distribute.MirroredStrategy and, over a group that spans hosts, MultiWorkerMirroredStrategy; also to
// PyTorch's DistributedDataParallel.
std::unique_ptr<Strategy> make_mirrored(StrategyParts parts);

// Synchronous data parallelism in one process: forward, backward, the sum over the devices and the update are
// one program (stablehlo/training_program.h), which a plugin compiles and runs on all devices of this host.
// The strategy `tpu`, which corresponds to tf.distribute.TPUStrategy on one host, and what `train.step: xla`
// makes of `one_device` and `mirrored` on GPUs.
std::unique_ptr<Strategy> make_device_program(StrategyParts parts);

// Asynchronous data parallelism: the variables live on servers, and each worker reads them, computes
// gradients and sends them back without waiting for other workers. Corresponds to tf.distribute's
// ParameterServerStrategy; see Dean et al. 2012, Large Scale Distributed Deep Networks (Downpour SGD); Li et
// al. 2014, Scaling Distributed Machine Learning with the Parameter Server.
//
// The worker's side; parameter_service.h has the server's. Every update is made from the mean gradient over
// the worker's own share. Buffers (moving statistics) stay on each worker; evaluations use those of worker 0.
std::unique_ptr<Strategy> make_parameter_server(StrategyParts parts);

// How the parameters of `model` are divided among the servers; the same result on workers and servers.
std::vector<ServerPart> partition_model(const Model& model, int servers, int64_t min_shard_bytes);

}  // namespace dtrain
