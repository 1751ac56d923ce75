// From what the replicas hold in parts, or each for itself, to whole tensors, and back.
#pragma once

#include <string>
#include <vector>

#include "comm/gradient_reducer.h"
#include "comm/process_group.h"
#include "models/model.h"
#include "models/variables.h"
#include "optim/optimizer.h"
#include "step/loss_scale.h"

namespace dtrain {

// Copies of all that a training has learnt, by name, whole whatever the replicas share out among them.
struct CollectedVariables {
  Variables model;     // parameters and buffers as every replica agrees on them: what an export needs
  Variables training;  // what else training needs to go on: the optimizer's, and what is each replica's own
  // Why they may be corrupt, as far as Strategy::check_variables() or servers know; or empty.
  std::string suspicion = {};
};

// One replica's side of a training whose variables are mirrored.
struct Replica {
  Model& model;
  ProcessGroup& group;
  const GradientReducer& reducer;
  Optimizer& optimizer;             // of the values of the reducer's parts
  at::Device device = at::kCPU;     // where the variables are
  LossScale* loss_scale = nullptr;  // may lack
};

// Collective; see Strategy::collect_variables(). `buffers_agree`: whether the model's buffers are the same
// everywhere; otherwise the model gets their mean, and what each replica has is kept beside it.
//
// `training` holds, of each memory of the optimizer and each parameter, "optimizer.average.PARAMETER",
// "optimizer.steps", "loss_scale" where there is one, and with a row for each replica "replicas.generator"
// (the state of LibTorch's CPU generator), on GPUs "replicas.cuda_generator" too, and
// "replicas.buffer.BUFFER".
CollectedVariables collect(const Replica& replica, bool buffers_agree);

// Collective; see Strategy::restore_variables(). Returns whether the buffers agree. What is each replica's
// own comes back as far as there are rows: further replicas keep their fresh generators. Buffers come back
// only at the same number of replicas, else as their mean.
bool restore(const Replica& replica, const CollectedVariables& variables);

}  // namespace dtrain
