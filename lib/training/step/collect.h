// Collects whole tensors from the state that replicas hold in parts or individually, and restores it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <future>
#include <map>
#include <string>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "models/model.h"
#include "models/variables.h"
#include "optim/optimizer.h"
#include "step/loss_scale.h"
#include "step/replica_states.h"

namespace dtrain {

// Copies of all training state, by name. The tensors are whole, even if the replicas divide them among
// themselves.
struct CollectedVariables {
  Variables model;     // parameters and buffers that all replicas agree on: what an export needs
  Variables training;  // the rest of what training needs to continue: optimizer and per-replica state
  // Why they may be corrupt, according to Strategy::check_variables() or the servers; or empty.
  std::string suspicion = {};
};

// Keeps the memory of copies, by name. The kernel hands out memory only when it is first touched, which takes
// much longer than a copy into memory that is there (for 840 MB up to 2 s instead of 0.1 s).
class CopyMemory {
 public:
  // Uninitialised memory of the host with the shape, type and layout of `tensor`, which may be on a device:
  // what `name` had before, if it fits and nobody else holds it any more.
  at::Tensor take(const std::string& name, const at::Tensor& tensor);
  // Gets memory for these and no others. A separate thread touches it first; take() waits for that.
  void prepare(const Variables& all);

 private:
  std::map<std::string, at::Tensor> kept_;
  std::future<void> touched_;  // after kept_: ends before that memory is freed
};

// One replica's side of a training whose variables are mirrored.
struct Replica {
  Model& model;
  ProcessGroup& group;
  GradientReducer& reducer;
  Optimizer& optimizer;                     // its parameters are the values of the reducer's parts
  at::Device device = at::kCPU;             // where the variables are
  LossScale* loss_scale = nullptr;          // may be null
  ReplicaStatistics* statistics = nullptr;  // null: every replica has the same buffers
  bool keeps_generators = true;             // false: each step begins with a seed of its own
  CopyMemory* copies = nullptr;             // where collect() puts its copies; null: in new memory
};

// Before the name of a buffer that each replica has its own values of.
inline const std::string kReplicaBuffer = "replicas.buffer.";

// Collective; see Strategy::collect_variables(). If the replicas' buffers differ, `model` gets their mean,
// and `training` keeps each replica's own buffers.
//
// `training` contains "optimizer.MEMORY.PARAMETER" for each memory of the optimizer (for example "average")
// and each trained parameter; "optimizer.steps"; "loss_scale" if there is one; and with one row per replica
// "replicas.generator" (the state of LibTorch's CPU generator), on GPUs also "replicas.cuda_generator", and
// "replicas.buffer.BUFFER". Virtual replicas have no such rows, and nothing is asked of other hosts.
// `wait_for_device` bounds the wait for what replicas on GPUs add up.
CollectedVariables collect(
    const Replica& replica, const std::function<void()>& wait_for_device = [] {});

// Prepares the memory of `replica.copies` for all that collect() will copy on rank 0.
void prepare_to_collect(const Replica& replica);

// Collective; see Strategy::restore_variables(). Generators are restored for as many replicas as there are
// rows; further replicas keep their fresh generators. Each replica's own buffers are restored only if the
// number of replicas is the same; otherwise all get the mean.
void restore(const Replica& replica, const CollectedVariables& variables);

}  // namespace dtrain
