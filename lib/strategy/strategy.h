// A strategy owns where variables live and how the replicas' gradients become one update. It never reads
// data, writes files or prints.
//
// The interface is meant for all six of tf.distribute: one_device, mirrored, multi_worker_mirrored (which
// differs from mirrored in its group alone), central_storage and parameter_server are built; tpu compiles the
// whole step. A step is one call, because a GPU may replay it as a graph.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/pair_channel.h"
#include "comm/process_group.h"
#include "core/phase_clock.h"
#include "data/batches.h"
#include "device/accelerator.h"
#include "models/model.h"
#include "objective/metric_sums.h"
#include "optim/optimizer.h"
#include "parameter_server/update_ledger.h"
#include "step/collect.h"
#include "step/loss_scale.h"
#include "step/train_step.h"

namespace dtrain {

// What a replica wants to happen after the step that it has made, and what all of them do.
struct Decision {
  bool save = false;        // a checkpoint now
  bool leave = false;       // save, and end although the training is not complete
  bool end = false;         // the training is complete
  int64_t steps_until = 0;  // the next decision
};

// Which step is made, and how.
struct StepContext {
  int64_t step = 1;  // of the run, from 1
  double learning_rate = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Once, before anything else: gives every replica the same variables (those of rank 0). Returns how many
  // steps this replica has made before, which is more than none where it comes back to variables that others
  // keep.
  virtual int64_t place_variables() = 0;
  // One optimizer step on this replica's share of a global batch. Returns the sums of this replica alone, or,
  // where replicas work on their own, to replica 0 those of all since its last step.
  virtual MetricSums train_step(const Share& share, const StepContext& context) = 0;
  // Loss and predictions of this replica's share without training; every replica that evaluates calls it
  // equally often, with an empty share if need be. Returns the sums of this replica alone.
  virtual MetricSums evaluate(const Share& share) = 0;
  // The sums of all replicas out of theirs; collective.
  virtual MetricSums sum_over_replicas(MetricSums sums) = 0;
  // Between two steps: what all replicas do, the same on each of them; collective. Anybody's `save` and
  // `leave` count; `end` and `steps_until` are rank 0's. Where replicas work on their own it is not
  // collective: each does what it wants, and leaves when another one has left.
  virtual Decision agree(const Decision& own) = 0;
  // Between two steps: whether the variables are what the updates made them, as far as that shows
  // (docs/strategies.md). Collective. Throws Error(kDisagree) on every replica where memory is corrupt, which
  // in some strategies shows at the next step, and train_step() throws it. Returns what the user should be
  // warned of, the same on every replica; empty: nothing. Where replicas work on their own the servers check
  // by themselves, and this does nothing.
  virtual std::string check_variables() = 0;
  // Collective, and training goes on as if it had not been called. Every replica gets `model`, only rank 0
  // all of `training`. Where replicas work on their own it is not collective, and only rank 0 gets anything.
  virtual CollectedVariables collect_variables() = 0;
  // The reverse, in place of place_variables(); collective. What rank 0 passes counts, and the number of
  // replicas may be another one. With an empty `training` only the model is restored. `step`: how many rank 0
  // had made then. Returns how many this replica had made: as many, but where replicas work on their own.
  // Throws Error(kCheckpoint) on rank 0 when it is of another model or optimizer.
  virtual int64_t restore_variables(const CollectedVariables& variables, int64_t step) = 0;
  // After this replica's last train_step, before the last evaluation. On replica 0 it returns when nobody
  // trains any more; then what they did, if they worked on their own.
  virtual std::optional<WorkersReport> end_training() = 0;
  // Returns when every replica has finished its work; where they work on their own, when this one has.
  virtual void finish() = 0;
};

// The parameter servers of a job, as one of its workers sees them.
struct ServerConnections {
  int worker = 0;
  int workers = 1;
  std::vector<std::unique_ptr<PairChannel>> channels;  // by server
  int64_t min_shard_bytes = 1;
  std::function<void()> on_wait = [] {};  // about to wait for a server
};

// What a strategy works with. The model and the group belong to the strategy from then on; the clock, which
// its steps tell what they do, is shared with the loop.
struct StrategyParts {
  std::shared_ptr<Model> model;
  TrainSpec train;                                  // the optimizer, and what a step does besides
  std::unique_ptr<ProcessGroup> group;              // parameter_server: of this worker alone
  ServerConnections servers = {};                   // parameter_server
  std::shared_ptr<LossScale> loss_scale = nullptr;  // with precision fp16_mixed; shared with the loop
  ReducerOptions reducer;
  std::vector<GradientObserver> observers = {};
  // What the model's variables lie on; null: the CPU. The strategies that run on others bound how long they
  // wait for it, and may record their steps on it.
  std::shared_ptr<Accelerator> accelerator = {};
  bool record_steps = false;
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
  std::shared_ptr<PhaseClock> clock = std::make_shared<PhaseClock>();
  std::optional<int64_t> check_every = {};  // steps after which check_variables() is to be expected
};

// Makes the strategy `kind`. Throws Error(kBug) for one that is not in strategy_names(): specs are checked
// before.
std::unique_ptr<Strategy> make_strategy(const std::string& kind, StrategyParts parts);

// The strategies that are built.
const std::vector<std::string>& strategy_names();

}  // namespace dtrain
