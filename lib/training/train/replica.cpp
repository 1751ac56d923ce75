#include "train/replica.h"

#include <ATen/ATen.h>
#include <c10/util/ScopeExit.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "callbacks/callbacks.h"
#include "callbacks/inspection.h"
#include "callbacks/profile.h"
#include "callbacks/weight_histograms.h"
#include "core/random.h"
#include "core/signals.h"
#include "host/cores.h"
#include "host/host_memory.h"
#include "host/hosts.h"
#include "initial_state/warm_start.h"
#include "parallel/parallel_blocks.h"
#include "plan/class_weights.h"
#include "plan/devices.h"
#include "plan/memory_estimate.h"
#include "step/train_step.h"
#include "store/describe_exception.h"
#include "train/assembly.h"
#include "train/meeting.h"
#include "train/run_checkpoints.h"
#include "train/trainer.h"

namespace dtrain {
namespace {

// How far the sums of the same gradients may differ, relative to their norm.
double gradient_tolerance(const StrategyParts& parts) {
  if (parts.reducer.wire_type) return *parts.reducer.wire_type == at::kHalf ? 1e-3 : 1e-2;
  // The inspection computes with autograd. Where two pixels of a pooling window, or a number and 0, differ by
  // a rounding only, a compiled step may take the other one.
  if (parts.train.step != "eager") return 1e-3;
  return parts.model->parameters().front().scalar_type() == at::kDouble ? 1e-12 : 1e-5;
}

// Compares what the replicas contribute to step `step` with what the strategy makes of it.
std::shared_ptr<StepWatch> inspection_of(int64_t step, const RunPlan& run, ReplicaGroups& groups,
                                         StrategyParts& parts, EventSink& sink) {
  const auto inspection = std::make_shared<StepInspection>(parts.model, parts.train, groups.make_group(),
                                                           gradient_tolerance(parts), step, run.name(), sink);
  parts.observers.push_back({[step](int64_t made) { return made == step; },
                             [inspection](int64_t, const GradientReducer& reducer, ProcessGroup&) {
                               inspection->look_at_gradients(reducer);
                             }});
  return inspection;
}

// Reports the gradient's norm for each window of steps. It has to be waited for, so where steps are recorded
// only the last one of an epoch is observed.
GradientObserver norm_observer(const ReplicaContext& context, bool recorded, RunReporter& reporter) {
  const auto wants = [&run = context.run, recorded,
                      every = context.job.spec.metrics.every_steps](int64_t step) {
    const bool ends_epoch = step % run.steps_per_epoch == 0 || step == run.total_steps;
    return ends_epoch || (!recorded && step % every == 0);
  };
  const auto look = [&reporter](int64_t, const GradientReducer& reducer, ProcessGroup& group) {
    reporter.on_gradient_norm(gradient_norm(reducer, group).item<double>());
  };
  return {wants, look, /*can_follow_update=*/true};
}

// Adds what is reported of the run's steps, and what the spec wants to observe of them, to the parts of its
// strategy. Returns what looks at the steps besides.
StepWatches observe(const ReplicaContext& context, ReplicaGroups& groups, RunReporter& reporter,
                    CallbackList& callbacks, StrategyParts& parts) {
  const JobSpec& spec = context.job.spec;
  const RunPlan& run = context.run;
  const bool recorded = parts.record_steps && parts.accelerator != nullptr;
  parts.observers.push_back(norm_observer(context, recorded, reporter));
  if (!run.traits().is_observed) return {};
  if (spec.callbacks.tensorboard_histograms)
    parts.observers.push_back(histogram_observer(parts.model, run, callbacks));
  parts.measures_noise = spec.metrics.noise_scale;
  if (spec.receipts.every_steps) {
    const auto take = [&callbacks](const Event& receipt) { callbacks.on_receipt(receipt); };
    parts.receipts = std::make_shared<Receipts>(*spec.receipts.every_steps, run.total_steps, take);
  }
  StepWatches watches;
  if (spec.callbacks.profile.start_step)
    watches.push_back(make_profile(parts.clock, {context.job, run, context.identity.rank, context.store,
                                                 context.files.folder, callbacks, parts.accelerator}));
  if (const auto& step = spec.metrics.inspect_step)
    watches.push_back(inspection_of(*step, run, groups, parts, callbacks));
  return watches;
}

// What a replica exchanges gradients or variables with.
struct Connections {
  std::unique_ptr<ProcessGroup> group;
  ServerConnections servers;  // of parameter_server, whose group is of this replica alone
};

Connections connect(const ReplicaContext& context, ReplicaGroups& groups, ActivityLog& activity) {
  const auto on_wait = [&activity] { activity.doing(Activity::kCommunicating); };
  Connections connections;
  if (context.run.is_asynchronous()) {
    connections.group = make_single_group();
    connections.servers = connect_to_servers(context);
    connections.servers.on_wait = on_wait;
  } else {
    connections.group = groups.make_group();
    connections.group->set_on_wait(on_wait);
  }
  return connections;
}

// This replica's examples in a phase, or what the frozen layers make of them. `call`: as for with_features().
ReplicaShares shares_of(const ReplicaContext& context, const Dataset& examples, const PhasePlan& phase,
                        Model& model, const Accelerator* accelerator, int64_t call) {
  const auto& [job, run, identity, store, files, board, sink] = context;
  const bool keeps = phase.features.layers > 0;
  const Dataset dataset = with_features(context, phase, model, examples, call);
  LoaderOptions options = train_options(job, run, identity.rank, accelerator);
  if (keeps) options.prefetch = 0;
  ReplicaShares shares{std::make_unique<ShareLoader>(dataset.train, options)};
  if (!evaluates_on(run, identity.rank)) return shares;
  options = evaluation_options(job, run, identity.rank, accelerator);
  if (keeps) options.prefetch = 0;
  shares.evaluated =
      std::make_unique<ShareLoader>(dataset.validation ? dataset.validation : dataset.test, options);
  if (job.data.has_final_test()) shares.final_test = std::make_unique<ShareLoader>(dataset.test, options);
  return shares;
}

void train(const ReplicaContext& context, const Dataset& dataset,
           const std::shared_ptr<Accelerator>& accelerator, ReplicaGroups& groups, ActivityLog& activity) {
  const auto& [job, run, identity, store, files, board, sink] = context;
  const bool leads = context.leads();
  Connections connections = connect(context, groups, activity);
  activity.doing(Activity::kBuilding);
  // A worker of parameter servers has done so before it connected.
  if (saves_checkpoints(job, run) && !run.is_asynchronous()) catch_stop_signals();
  const auto clock = std::make_shared<StepClock>();
  std::optional<Resumption> from;
  if (files.resumes && run.traits().resumes) from = resume_from(files.checkpoint, store, leads, "resume");
  // To be asked about as long as the strategy lives that gets them.
  std::vector<int> sockets = connections.group->sockets();
  for (const auto& channel : connections.servers.channels)
    sockets.insert(sockets.end(), channel->sockets().begin(), channel->sockets().end());
  StrategyParts parts = strategy_parts(job, training_of(job, run, *dataset.train),
                                       std::move(connections.group), clock, accelerator);
  parts.servers = std::move(connections.servers);
  parts.collects_often = saves_checkpoints(job, run) && job.spec.checkpoint.saves_during_run();
  const std::shared_ptr<const LossScale> loss_scale = parts.loss_scale;
  CallbackList callbacks({job, run, files.folder, sink}, leads);
  std::optional<WeightsRead> weights;
  if (leads && !from) weights = start_from_weights(job, *parts.model);  // the others get what rank 0 has
  if (job.spec.model.weights && !from && !run.is_asynchronous() && run.training_processes() > 1)
    wait_for_ranks(
        c10::make_intrusive<c10d::PrefixStore>(run.name() + "/weights", store), identity.rank,
        static_cast<int>(run.training_processes()),
        std::max(rendezvous_timeout(job.spec), to_milliseconds(job.spec.strategy.timeout_seconds)));
  parts.servers.has_weights = job.spec.model.weights.has_value();
  if (weights) {
    for (const std::string& line : weights->lines) sink.on_event(message_event(run, line));
  }
  if (leads && !from && job.spec.train.loss.class_weights.balanced)
    sink.on_event(message_event(run, balanced_line(job.data, parts.train.loss.class_weights.weights)));
  // Of the last step made, or of the first to make.
  const PhasePlan& first_phase = run.phase_of(from ? std::max<int64_t>(0, from->state.step - 1) : 0);
  parts.model->train_layers(first_phase.layers);
  parts.servers.phase = static_cast<int32_t>(first_phase.index);
  if (run.one_process) parts.programs = program_parts(job, run, first_phase);
  const std::shared_ptr<Model> model = parts.model;
  RunReporter reporter(
      job, run, callbacks, [&] { return traffic_of(sockets); }, accelerator.get(), loss_scale,
      [&] { return links_between_hosts(context, sockets); });
  if (weights) reporter.starts_from(weights->file, weights->sha256);
  StepWatches watches = observe(context, groups, reporter, callbacks, parts);
  const auto strategy = make_strategy(run.strategy, std::move(parts));
  // The heap keeps what is freed (core/own_process.h), which pays from step to step; what building the
  // strategy took, a whole copy of the variables in central_storage, is not needed again.
  ::malloc_trim(0);
  const MakeShares make_shares = [&, call = int64_t{0}](const PhasePlan& phase) mutable {
    return shares_of(context, dataset, phase, *model, accelerator.get(), ++call);
  };
  RunCheckpoints checkpoints(job, run, checkpoint_folder(files.folder), leads, callbacks, store);
  // Which waits for the disk at its end, for which the supervisor gives time if it knows.
  const auto tell = c10::make_scope_exit([&] {
    if (checkpoints.are_being_written()) activity.doing(Activity::kSaving);
  });
  Trainer trainer(job, run, {*strategy, *clock, std::move(watches)}, make_shares,
                  {reporter, checkpoints, callbacks, activity}, leads);
  trainer.run(from ? &*from : nullptr);
}

void train_or_serve(const ReplicaContext& context, const Dataset& dataset) {
  const auto& [job, run, identity, store, files, board, sink] = context;
  ActivityLog activity(board, identity.local_rank);
  // First: LibTorch's generators settle whether there is CUDA.
  const std::shared_ptr<Accelerator> accelerator =
      run.one_process ? nullptr : open_device(job.device_of(identity.local_rank), job.spec.cuda);
  const auto threads = static_cast<int>(run.threads_per_replica);
  if (run.processes() > 1) keep_to_own_cores(identity.local_rank, identity.local_world_size, threads);
  compute_with(threads, static_cast<int>(run.threads_of_libtorch()));
  // For dropout and the like: each replica draws its own.
  at::manual_seed(derive_seed(static_cast<uint64_t>(job.spec.seed), SeedPurpose::kReplica,
                              static_cast<uint64_t>(identity.rank)));

  const Role role = role_of(identity.rank, run.replicas, run.servers);
  activity.doing(Activity::kConnecting);
  if (role.serves) return serve_parameters(context, role.number);
  if (!run.traits().trains) return measure_overhead(job, run, dataset, sink, accelerator);
  ReplicaGroups groups(context, accelerator);
  train(context, dataset, accelerator, groups, activity);
}

}  // namespace

void run_replica(const ReplicaContext& context, const Dataset& dataset) {
  const MemoryInUse at_start = memory_in_use();
  try {
    train_or_serve(context, dataset);
  } catch (...) {
    const Failure failure = describe_current_exception();
    if (failure.code != ExitCode::kMemory) throw;
    throw Error(ExitCode::kMemory,
                failure.message + "\n" +
                    memory_advice(context.job, context.run, at_start, context.identity.local_world_size));
  }
}

GroupNetwork network_of(const Identity& identity) {
  GroupNetwork network{identity.own_address, identity.members,    identity.host,
                       identity.hosts,       identity.local_rank, identity.local_world_size};
  // Ranks in no order (mpirun --map-by node) form a group as if each had a host of its own.
  if (!identity.host_by_host) network.local_rank = 0, network.local_size = 1;
  return network;
}

std::unique_ptr<ProcessGroup> ReplicaGroups::make_group() {
  const JobSpec& spec = context_.job.spec;
  const GroupNetwork network = network_of(context_.identity);
  const auto keys = c10::make_intrusive<c10d::PrefixStore>(
      fmt::format("{}/generation {}", context_.run.name(), ++generation_), context_.store);
  const auto replicas = static_cast<int>(context_.run.training_processes());
  const int rank = context_.identity.rank;
  const std::string& communication = context_.job.communication;
  const Identity& identity = context_.identity;
  if (spec.strategy.local_steps.every && context_.run.traits().spans_hosts && !identity.host_by_host &&
      identity.local_world_size > 1)
    throw Error(
        ExitCode::kUsage,
        "strategy.local_steps: the replicas of a host make each step together, and these ranks are not "
        "numbered host by host; start as many on each host, in their order (mpirun --map-by core)");
  if (communication == "nccl" && replicas > 1) {
    // It would listen on any interface; a choice that the user has made stays.
    const std::string interface = interface_of_address(network.address);
    if (!interface.empty()) ::setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), /*overwrite=*/0);
  }
  if (network.spans_hosts() && replicas > 1)  // some may load data from a slower disk
    wait_for_ranks(keys, rank, replicas, rendezvous_timeout(spec));
  return dtrain::make_group(communication, keys, rank, replicas,
                            to_milliseconds(spec.strategy.timeout_seconds), network, accelerator_.get());
}

}  // namespace dtrain
