// A strategy owns where variables live and how the replicas' gradients become one update. It never reads
// data, writes files or prints.
//
// The interface serves all six strategies of tf.distribute. multi_worker_mirrored differs from mirrored only
// in its group; tpu compiles the whole step. A step is one call, because a GPU may replay it as a graph, and
// a TPU runs it as one program.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/host_mean.h"
#include "comm/pair_channel.h"
#include "comm/process_group.h"
#include "core/step_clock.h"
#include "device/accelerator.h"
#include "device/program_runner.h"
#include "loader/batches.h"
#include "models/model.h"
#include "objective/metric_sums.h"
#include "parameter_server/partition.h"
#include "parameter_server/update_ledger.h"
#include "stablehlo/training_program.h"
#include "step/collect.h"
#include "step/loss_scale.h"
#include "step/receipts.h"
#include "step/train_step.h"
#include "store/store.h"

namespace dtrain {

// A replica's request after the step that it has just made, or the decision of all replicas.
struct Decision {
  bool save = false;        // save a checkpoint now
  bool leave = false;       // save a checkpoint and end before the training is complete
  bool end = false;         // the training is complete
  int64_t steps_until = 0;  // the number of steps until the next decision
  double cost = 0;          // of the answer: seconds that the exchange took
};

// The number and the learning rate of a step.
struct StepContext {
  int64_t step = 1;  // in the run, from 1
  double learning_rate = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Whether the replicas train asynchronously: each makes steps of its own.
  virtual bool is_asynchronous() const { return false; }
  // Whether train_step() may return before its step is made. Its sums then wait for the step, and all steps
  // are made when sum_over_replicas() returns.
  virtual bool defers_steps() const { return false; }
  // Called once, before anything else: gives every replica the variables of rank 0 (if replicas train
  // asynchronously, the servers' parameters and worker 0's buffers). Returns how many steps this
  // replica has made before, more than zero only if it returns to variables that other processes keep.
  virtual int64_t place_variables() = 0;
  // Called between two steps: from now on, in phase `number` (from 0), trains `layers` with a new optimizer.
  // Collective. All replicas get the same moving statistics, the mean of theirs. The first phase is that of
  // StrategyParts::model. If replicas train asynchronously, waits until all have made their steps before the
  // phase, and all get the moving statistics of replica 0. Returns false if the phase cannot begin, because a
  // replica has left: the job is to stop.
  virtual bool begin_phase(int64_t number, const TrainedLayers& layers) = 0;
  // One optimizer step on this replica's share of a global batch; with local steps, a step of this host alone
  // on its share, and an outer update when one is due. Returns the sums of this replica alone,
  // which hold until the next step. Of asynchronous replicas, 0 gets the sums of all since its last step.
  virtual MetricSums train_step(const Share& share, const StepContext& context) = 0;
  // Evaluates this replica's share without training. Every replica that evaluates must call it the same
  // number of times, with an empty share if necessary. Returns the sums of this replica alone.
  virtual MetricSums evaluate(const Share& share) = 0;
  // Adds up the sums of all replicas. Collective.
  virtual MetricSums sum_over_replicas(MetricSums sums) = 0;
  // The gradient noise scale, in examples, of the steps since the last call; nullopt: it is not measured, or
  // they were too few to tell. Collective.
  virtual std::optional<double> take_noise_scale() { return std::nullopt; }
  // Adds up a float32 tensor, where evaluate() computes, over the replicas that evaluate. Collective among
  // them.
  virtual void sum_over_evaluating(at::Tensor& /*values*/) {}
  // Called between two steps: decides what all replicas do. Collective; the result is the same on every
  // replica. `save` and `leave` of any replica count; `end` and `steps_until` are those of rank 0. If
  // replicas train asynchronously it is not collective: each replica does what it wants, and leaves if
  // another one has left. With local steps, `steps_until` is rounded up to an outer update.
  virtual Decision agree(const Decision& own) = 0;
  // For how many steps, or batches of an evaluation, from the next one on, every replica has its data, as far
  // as they look. `own`: for how many this one has. Collective; without waiting for a device. A peer that is
  // lost here is lost before the step. If replicas train asynchronously, `own`.
  virtual int64_t fewest_ready(int64_t own) { return own; }
  // Called between two steps: checks, as far as possible, that the variables are still what the updates made
  // them (docs/strategies.md). Collective. If memory is corrupt, throws Error(kDisagree) on every replica. In
  // some strategies the next step detects it, and train_step() throws the error. Returns a warning for the
  // user, the same on every replica; empty: nothing. If replicas train asynchronously, the servers make the
  // checks, and this function does nothing.
  virtual std::string check_variables() = 0;
  // Collective. Does not affect training. Every replica gets `model`; only rank 0 gets all of `training`. If
  // replicas train asynchronously it is not collective, and only rank 0 gets anything.
  virtual CollectedVariables collect_variables() = 0;
  // Restores collected variables; called instead of place_variables(). Collective. Uses the variables that
  // rank 0 passes; the number of replicas may have changed. With an empty `training`, only the model is
  // restored. `step`: the number of steps that rank 0 had made. Returns the number of steps that this replica
  // had made, which differs from `step` only if replicas train asynchronously. Throws Error(kCheckpoint) on
  // rank 0 if the variables are of another model or optimizer.
  virtual int64_t restore_variables(const CollectedVariables& variables, int64_t step) = 0;
  // Called after this replica's last train_step and before the last evaluation. With local steps, makes the
  // last outer update. On replica 0, waits until no replica trains any more. If replicas trained
  // asynchronously, it then returns a report of what each of them did.
  virtual std::optional<WorkersReport> end_training() { return std::nullopt; }
  // Returns when every replica has finished its work; if replicas train asynchronously, when this one has.
  virtual void finish() = 0;
};

// The parameter servers of a job, as one of its workers sees them.
struct ServerConnections {
  int worker = 0;
  int workers = 1;
  std::vector<std::unique_ptr<PairChannel>> channels;  // by server
  int64_t min_shard_bytes = 1;
  int32_t phase = 0;                      // of the phase that StrategyParts::model begins with
  std::function<void()> on_wait = [] {};  // called before waiting for a server
  StorePtr store = {};                    // of the workers, for their buffers; null: they have none
  bool has_weights = false;               // worker 0 begins with buffers that are not the initial ones
};

// The program that a plugin compiles, and the devices to compile it for.
struct ProgramParts {
  std::string plugin;             // the library that drives the devices; empty: there is none
  std::optional<GpuChoice> gpus;  // if these are GPUs
  LayerPlan model;
  ProgramForm form;  // of a training step
  bool quick_compile = false;
  std::string kernels_in;  // as CompileOptions
};

// The parts of a strategy. The strategy takes ownership of the model and the group. It shares the clock,
// which times the parts of its steps, with the training loop.
struct StrategyParts {
  std::shared_ptr<Model> model;
  TrainSpec train;                                  // the optimizer and the other options of a step
  std::shared_ptr<ProcessGroup> group;              // parameter_server: has only this worker
  ServerConnections servers = {};                   // parameter_server
  ProgramParts programs = {};                       // tpu, and train.step: xla
  std::shared_ptr<LossScale> loss_scale = nullptr;  // for fp16_mixed; shared with the loop
  ReducerOptions reducer;
  LocalStepsSpec local_steps = {};         // multi_worker_mirrored
  Encoding encoding = Encoding::kWhole;    // of what hosts exchange in outer updates
  std::shared_ptr<ProcessGroup> all = {};  // with local steps: all replicas, and `group` has those of a host
  std::vector<GradientObserver> observers = {};
  // The device that holds the model's variables; null: the CPU. Strategies that run on an accelerator limit
  // how long they wait for it, and may record their steps on it.
  std::shared_ptr<Accelerator> accelerator = {};
  bool record_steps = false;
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
  std::shared_ptr<StepClock> clock = std::make_shared<StepClock>();
  std::optional<int64_t> check_every = {};  // steps between calls of check_variables()
  bool collects_often = false;              // whether collect_variables() is called while training goes on
  EvaluateSpec evaluate = {};
  uint64_t seed = 0;                        // the job's, for what virtual replicas and devices draw
  std::shared_ptr<Receipts> receipts = {};  // may be null
  bool measures_noise = false;              // metrics.noise_scale
};

// Makes the strategy `kind`. Throws Error(kBug) for one that is not in strategy_names().
std::unique_ptr<Strategy> make_strategy(const std::string& kind, StrategyParts parts);

// The implemented strategies.
const std::vector<std::string>& strategy_names();

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
// the worker's own share. Buffers (moving statistics) stay on each worker; evaluations use those of worker 0,
// and so does every worker at the beginning of a phase and of a job that resumes.
std::unique_ptr<Strategy> make_parameter_server(StrategyParts parts);

// How the parameters of `model` are divided among the servers; the same result on workers and servers.
std::vector<ServerPart> partition_model(const Model& model, int servers, int64_t min_shard_bytes);

}  // namespace dtrain
