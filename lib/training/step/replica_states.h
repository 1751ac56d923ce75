// What a replica keeps for each of the virtual replicas that it computes, and what all of them have together.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "comm/process_group.h"
#include "comm/replica_tree.h"
#include "models/model.h"

namespace dtrain {

// One row for each of `replicas`, bit for bit. `own`: the rows of those of this rank. Collective.
at::Tensor gather_rows(ProcessGroup& group, const VirtualReplicas& replicas, const at::Tensor& own);
// The same with a row for each rank: `own`.
at::Tensor gather_rows(ProcessGroup& group, const at::Tensor& own);

// Each virtual replica has moving statistics of its own (batch_norm), and draws its own random numbers
// (dropout). Those of one are in use: in the model, and in LibTorch's generator of the processor.
class ReplicaStates {
 public:
  // `are_virtual`: strategy.virtual_replicas is set; else the one of this rank is the rank itself, whose
  // generator is seeded already. `seed`: the job's.
  ReplicaStates(Model& model, const VirtualReplicas& replicas, bool are_virtual, uint64_t seed);

  const VirtualReplicas& replicas() const { return replicas_; }
  bool are_virtual() const { return are_virtual_; }
  size_t count() const { return states_.size(); }  // of this rank
  // Call when the model's buffers were set, or others of them move: all get these.
  void begin();
  // From now on, the virtual replica with this number among the own ones is in use.
  void use(size_t number);
  // The model gets buffers that all agree on: the mean of theirs, as in tf.distribute. Of counts there is
  // none: each replica keeps its own, and virtual ones agree on those of the first. Evaluations use them;
  // training continues with those of each, so that an evaluation changes nothing. Collective.
  void agree(ProcessGroup& group);
  // The model gets those of the one in use again.
  void take_back() { use(used_); }
  // Whether the buffers of all are the same.
  bool are_alike() const { return alike_; }
  void set_alike(bool alike) { alike_ = alike; }

  // The sums of `rows`, which has one for each of this rank, over all virtual replicas. Collective.
  at::Tensor sum(ProcessGroup& group, const at::Tensor& rows) const;

  // For checkpoints: a row for each of this rank. The model has the buffers of the one in use (take_back()).
  at::Tensor generators() const;
  std::vector<at::Tensor> buffers() const;  // in the order of Model::moving_buffers()
  // Throws c10::Error if it is no state of a generator.
  void set_generator(size_t number, const at::Tensor& state);
  void set_buffers(size_t number, const std::vector<at::Tensor>& buffers);

 private:
  struct State {
    at::Generator generator;
    std::vector<at::Tensor> buffers;
  };

  Model& model_;
  VirtualReplicas replicas_;
  bool are_virtual_;
  std::vector<State> states_;  // that of the one in use is what it was when it was last put away
  size_t used_ = 0;
  bool alike_ = true;
  bool has_mean_ = false;  // in the model's buffers
};

}  // namespace dtrain
