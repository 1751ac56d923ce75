#include "train/replica.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <malloc.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "callbacks/callbacks.h"
#include "callbacks/inspection.h"
#include "callbacks/profile.h"
#include "callbacks/weight_histograms.h"
#include "checkpoint/checkpoint.h"
#include "core/clock.h"
#include "core/random.h"
#include "core/signals.h"
#include "host/cores.h"
#include "host/host_memory.h"
#include "host/hosts.h"
#include "identity/role.h"
#include "plan/devices.h"
#include "plan/memory_estimate.h"
#include "train/assembly.h"
#include "train/describe_exception.h"
#include "train/meeting.h"
#include "train/overhead.h"
#include "train/parameter_servers.h"
#include "train/run_checkpoints.h"
#include "train/trainer.h"

namespace dtrain {
namespace {

// NCCL would listen where it likes; what the user has set stays.
void keep_nccl_to(const std::string& address) {
  const std::string interface = interface_of_address(address);
  if (!interface.empty()) ::setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), /*overwrite=*/0);
}

GroupNetwork network_of(const Identity& identity) {
  GroupNetwork network{identity.own_address, identity.members,    identity.host,
                       identity.hosts,       identity.local_rank, identity.local_world_size};
  // Ranks in no order (mpirun --map-by node) meet as if each had a host of its own.
  if (!identity.host_by_host) network.local_rank = 0, network.local_size = 1;
  return network;
}

std::unique_ptr<ProcessGroup> meet(const JobPlan& job, const RunPlan& run, const Identity& identity,
                                   const StorePtr& store, Accelerator* accelerator) {
  const StrategySpec& strategy = job.spec.strategy;
  const auto timeout = to_milliseconds(strategy.timeout_seconds);
  const GroupNetwork network = network_of(identity);
  const auto meeting_place = c10::make_intrusive<c10d::PrefixStore>(run.name(), store);
  const auto size = static_cast<int>(run.replicas);
  // One replica has nobody to talk to, unless the spec insists.
  const std::string& communication = size > 1 ? job.communication : strategy.communication;
  if (communication == "nccl") keep_nccl_to(network.address);
  if (network.spans_hosts() && size > 1)  // some may load data from a slower disk
    wait_for_ranks(meeting_place, identity.rank, size, rendezvous_timeout(job.spec));
  return make_group(communication, meeting_place, identity.rank, size, timeout, network, accelerator);
}

// How far the sums of the same gradients may differ, relative to their norm.
double gradient_tolerance(const StrategyParts& parts) {
  if (parts.reducer.wire_type) return *parts.reducer.wire_type == at::kHalf ? 1e-3 : 1e-2;
  return parts.model->parameters().front().scalar_type() == at::kDouble ? 1e-12 : 1e-5;
}

// What a run's strategy is made from and what watches it.
struct ObserverContext {
  const JobPlan& job;
  const RunPlan& run;
  int rank;
  std::function<std::unique_ptr<ProcessGroup>()> meet_again;  // makes another group of the same ranks
  StorePtr store;
  std::filesystem::path folder;
  CallbackList& callbacks;
};

// One that looks at a step when the spec asks for it.
std::unique_ptr<Strategy> inspected_strategy(const ObserverContext& context, StrategyParts parts) {
  const std::optional<int64_t> step = context.job.spec.metrics.inspect_step;
  if (!step) return make_strategy(context.run.strategy, std::move(parts));
  const auto inspection = std::make_shared<StepInspection>(parts.model, parts.train, context.meet_again(),
                                                           gradient_tolerance(parts));
  parts.observers.push_back({[step](int64_t made) { return made == *step; },
                             [inspection](int64_t, const GradientReducer& reducer, ProcessGroup&) {
                               inspection->look_at_gradients(reducer);
                             }});
  return make_inspected(make_strategy(context.run.strategy, std::move(parts)), inspection, *step,
                        begin_event<InspectEvent>(context.run.name()), context.callbacks);
}

// With all that the spec wants to see of its steps; of the run that the job is for.
std::unique_ptr<Strategy> strategy_of(const ObserverContext& context, StrategyParts parts) {
  const CallbacksSpec& callbacks = context.job.spec.callbacks;
  if (!context.run.traits().is_observed) return make_strategy(context.run.strategy, std::move(parts));
  if (callbacks.tensorboard_histograms)
    parts.observers.push_back(histogram_observer(parts.model, context.run, context.callbacks));
  const std::shared_ptr<PhaseClock> clock = parts.clock;
  std::unique_ptr<Strategy> strategy = inspected_strategy(context, std::move(parts));
  if (!callbacks.profile.start_step) return strategy;
  return make_profiled(
      std::move(strategy), clock,
      {context.job, context.run, context.rank, context.store, context.folder, context.callbacks});
}

// Rank 0 reads the checkpoint, which only it may be able to; the others get the state through the store.
Resumption resume_from(const std::filesystem::path& path, const StorePtr& store, bool leads) {
  const std::string key = "resume";
  Resumption from;
  if (leads) {
    Checkpoint checkpoint = load_checkpoint(path);
    from.state = checkpoint.state;
    from.variables = {std::move(checkpoint.model), std::move(checkpoint.optimizer)};
    const std::string text = event_text(to_json(from.state));
    store->set(key, std::vector<uint8_t>(text.begin(), text.end()));
  } else {
    const std::vector<uint8_t> text = store->get(key);
    from.state = training_state_from(nlohmann::json::parse(text));
  }
  return from;
}

// What a replica computes on and needs to work with others.
struct Connections {
  std::shared_ptr<Accelerator> accelerator;  // null: the CPU
  std::unique_ptr<ProcessGroup> group;
  ServerConnections servers;
};

Connections connect(const JobPlan& job, const RunPlan& run, const Identity& identity, const StorePtr& store,
                    std::shared_ptr<Accelerator> accelerator, ActivityLog& activity) {
  const auto on_wait = [&activity] { activity.doing(Activity::kCommunicating); };
  Connections connections;
  if (run.is_asynchronous()) {
    connections.group = make_single_group();
    connections.servers =
        connect_to_servers({job, run, store, network_of(identity)}, identity.rank, identity.restart);
    connections.servers.on_wait = on_wait;
  } else {
    connections.group = meet(job, run, identity, store, accelerator.get());
    connections.group->set_on_wait(on_wait);
  }
  connections.accelerator = std::move(accelerator);
  return connections;
}

// To be asked as long as the strategy lives that gets them.
std::function<Traffic()> traffic_of(const Connections& connections) {
  std::vector<const PairChannel*> channels;
  for (const auto& channel : connections.servers.channels) channels.push_back(channel.get());
  return [group = connections.group.get(), channels] {
    Traffic all = group->traffic();
    for (const PairChannel* channel : channels) all += channel->traffic();
    return all;
  };
}

void train(const JobPlan& job, const RunPlan& run, const Dataset& dataset, int rank, Connections connections,
           const std::function<std::unique_ptr<ProcessGroup>()>& meet_again, const StorePtr& store,
           const RunContext& context, ActivityLog& activity, EventSink& sink) {
  const bool leads = rank == 0;
  activity.doing(Activity::kBuilding);
  if (saves_checkpoints(job, run)) catch_first_stop_signals();
  const auto clock = std::make_shared<PhaseClock>();
  std::optional<Resumption> from;
  if (context.resumes && run.traits().resumes) from = resume_from(context.checkpoint, store, leads);
  const auto traffic = traffic_of(connections);
  const std::shared_ptr<Accelerator> accelerator = connections.accelerator;
  StrategyParts parts = strategy_parts(job, std::move(connections.group), clock, accelerator);
  parts.servers = std::move(connections.servers);
  const std::shared_ptr<const LossScale> loss_scale = parts.loss_scale;
  CallbackList callbacks({job, run, context.folder, sink}, leads);
  const auto strategy =
      strategy_of({job, run, rank, meet_again, store, context.folder, callbacks}, std::move(parts));
  // The heap keeps what is freed (core/memory.h), which pays from step to step; what building the strategy
  // took, a whole copy of the variables in central_storage, is not needed again.
  ::malloc_trim(0);
  ShareLoader train_shares(dataset.train, train_options(job, run, rank, accelerator.get()));
  std::unique_ptr<ShareLoader> test_shares;
  if (evaluates_on(run, rank))
    test_shares =
        std::make_unique<ShareLoader>(dataset.test, test_options(job, run, rank, accelerator.get()));
  RunReporter reporter(job, run, callbacks, traffic, accelerator.get(), loss_scale);
  RunCheckpoints checkpoints(job, run, checkpoint_folder(context.folder), leads, callbacks);
  Trainer trainer(job, run, {*strategy, *clock}, {train_shares, test_shares.get()},
                  {reporter, checkpoints, callbacks, activity}, leads);
  trainer.run(from ? &*from : nullptr);
}

void train_or_serve(const JobPlan& job, const RunPlan& run, const Dataset& dataset, const Identity& identity,
                    const StorePtr& store, const RunContext& context, StatusBoard& board, EventSink& sink) {
  ActivityLog activity(board, identity.local_rank);
  // First: LibTorch's generators settle whether there is CUDA.
  const std::shared_ptr<Accelerator> accelerator =
      open_device(job.device_of(identity.local_rank), job.spec.cuda);
  at::set_num_threads(static_cast<int>(run.threads_per_replica));
  at::globalContext().setFlushDenormal(true);
  if (run.processes() > 1) {
    keep_to_own_cores(identity.local_rank, identity.local_world_size,
                      static_cast<int>(run.threads_per_replica));
  }
  // For dropout and the like: each replica draws its own.
  at::manual_seed(derive_seed(static_cast<uint64_t>(job.spec.seed), SeedPurpose::kReplica,
                              static_cast<uint64_t>(identity.rank)));

  const Role role = role_of(identity.rank, run.replicas, run.servers);
  activity.doing(Activity::kConnecting);
  if (role.serves)
    return serve_parameters({job, run, store, network_of(identity)}, role.number, identity.local_rank, board,
                            sink);
  Connections connections = connect(job, run, identity, store, accelerator, activity);
  if (!run.traits().trains) {
    measure_overhead(job, run, dataset, sink, accelerator);
  } else {
    const auto meet_again = [&] {
      return meet(job, run, identity, c10::make_intrusive<c10d::PrefixStore>("inspection", store),
                  accelerator.get());
    };
    train(job, run, dataset, identity.rank, std::move(connections), meet_again, store, context, activity,
          sink);
  }
}

}  // namespace

void run_replica(const JobPlan& job, const RunPlan& run, const Dataset& dataset, const Identity& identity,
                 const StorePtr& store, const RunContext& context, StatusBoard& board, EventSink& sink) {
  const MemoryInUse at_start = memory_in_use();
  try {
    train_or_serve(job, run, dataset, identity, store, context, board, sink);
  } catch (...) {
    const Failure failure = describe_current_exception();
    if (failure.code != ExitCode::kMemory) throw;
    throw Error(ExitCode::kMemory,
                failure.message + "\n" + memory_advice(job, run, at_start, identity.local_world_size));
  }
}

}  // namespace dtrain
