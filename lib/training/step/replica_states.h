// What replicas have besides variables: moving statistics (batch_norm), and what they draw (dropout).
#pragma once

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

// The number that the first rank of `group` has. Collective.
int64_t shared_number(ProcessGroup& group, int64_t own);

// The moving statistics of replicas that are not virtual: each has its own, unless all see the same examples.
class ReplicaStatistics {
 public:
  ReplicaStatistics(Model& model, ProcessGroup& group) : model_(model), group_(group) {}

  // Call when the model's buffers were set, or other ones move from now on: all replicas have these values.
  void begin();
  // The model gets the mean of all replicas' buffers, as in tf.distribute; of counts, each replica keeps its
  // own. Evaluations use the mean. Training continues with each replica's own buffers, so an evaluation
  // changes nothing. Collective.
  void agree();
  // The model gets this replica's own again.
  void take_back();
  // Whether all replicas have the same buffers.
  bool are_alike() const { return alike_; }
  void set_alike(bool alike) { alike_ = alike; }
  // The mean of one buffer over the replicas. Collective.
  at::Tensor mean_of(const at::Tensor& buffer) const;
  // Sets this replica's buffers, in the order of Model::moving_buffers(), in the model (take_back()).
  void set_own(const std::vector<at::Tensor>& buffers);

 private:
  Model& model_;
  ProcessGroup& group_;
  std::vector<at::Tensor> own_;  // while the model has the mean
  bool alike_ = true;
};

// What the virtual replicas of this rank have in a step (strategy.virtual_replicas). Each draws numbers by a
// function of the step. All begin it with the same moving statistics, and the changes of all are averaged. So
// nothing that only one rank has lasts longer than a step.
class VirtualReplicaStates {
 public:
  // `sums`: how many numbers the sums of metrics are. `seed`: the job's.
  VirtualReplicaStates(const VirtualReplicas& replicas, int64_t sums, uint64_t seed)
      : replicas_(replicas), sums_(sums), seed_(seed) {}

  const VirtualReplicas& replicas() const { return replicas_; }
  // Call when the model has other buffers, or other ones move. Returns how many numbers there are in a row
  // (GradientReducer::rows()): the sums of metrics, then the changes of moving statistics.
  int64_t begin(const Model& model);

  void begin_step(int64_t step);
  // `number`: among this rank's.
  void begin_replica(size_t number);
  // Writes a row of `rows`. `sums`: of metrics, float64; undefined if there are none.
  void end_replica(size_t number, const at::Tensor& sums, const at::Tensor& rows);
  // The model gets the moving statistics after the step. Returns the sums of metrics over all.
  at::Tensor end_step(const at::Tensor& rows);
  // The step is not made: the model gets the moving statistics before it.
  void take_back();

 private:
  VirtualReplicas replicas_;
  int64_t sums_;
  uint64_t seed_;
  int64_t step_ = 0;
  std::vector<at::Tensor> buffers_;  // the model's moving statistics
  std::vector<at::Tensor> before_;   // their values before the step
};

}  // namespace dtrain
