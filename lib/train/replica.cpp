#include "train/replica.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <malloc.h>

#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "checkpoint/checkpoint.h"
#include "core/random.h"
#include "core/signals.h"
#include "launch/cores.h"
#include "launch/role.h"
#include "train/assembly.h"
#include "train/callbacks.h"
#include "train/inspection.h"
#include "train/meeting.h"
#include "train/overhead.h"
#include "train/parameter_servers.h"
#include "train/run_checkpoints.h"
#include "train/trainer.h"

namespace dtrain {
namespace {

std::unique_ptr<ProcessGroup> meet(const JobPlan& job, const RunPlan& run, const Identity& identity,
                                   const StorePtr& store) {
  const StrategySpec& strategy = job.spec.strategy;
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(strategy.timeout_seconds * 1000));
  GroupNetwork network{identity.own_address, identity.members,    identity.host,
                       identity.hosts,       identity.local_rank, identity.local_world_size};
  // Ranks in no order (mpirun --map-by node) meet as if each had a host of its own.
  if (!identity.host_by_host) network.local_rank = 0, network.local_size = 1;
  const auto meeting_place = c10::make_intrusive<c10d::PrefixStore>(run.run, store);
  const auto size = static_cast<int>(run.replicas);
  if (network.spans_hosts() && size > 1)  // some may load data from a slower disk
    wait_for_ranks(meeting_place, identity.rank, size, rendezvous_timeout(job.spec));
  return make_group(strategy.communication, meeting_place, identity.rank, size, timeout, network);
}

// How far the sums of the same gradients may differ, relative to their norm.
double gradient_tolerance(const StrategyParts& parts) {
  if (parts.reducer.wire_type) return *parts.reducer.wire_type == at::kHalf ? 1e-3 : 1e-2;
  return parts.model->parameters().front().scalar_type() == at::kDouble ? 1e-12 : 1e-5;
}

// The strategy of a run; one that looks at a step when the spec asks for it. `meet_again` makes another group
// of the same ranks; `done` steps were made before.
std::unique_ptr<Strategy> strategy_of(const JobPlan& job, const RunPlan& run, StrategyParts parts,
                                      const std::function<std::unique_ptr<ProcessGroup>()>& meet_again,
                                      int64_t done, EventSink& sink) {
  const std::optional<int64_t> step = job.spec.metrics.inspect_step;
  if (!step || run.run != "distributed") return make_strategy(run.strategy, std::move(parts));
  const auto inspection =
      std::make_shared<StepInspection>(parts.model, parts.train, meet_again(), gradient_tolerance(parts));
  parts.before_update = [inspection](const GradientReducer& reducer) {
    inspection->look_at_gradients(reducer);
  };
  return make_inspected(make_strategy(run.strategy, std::move(parts)), inspection, {*step, done},
                        make_event("inspect", run.run), sink);
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
    from.state = training_state_from(nlohmann::ordered_json::parse(text));
  }
  return from;
}

// What a replica needs to work with others.
struct Connections {
  std::unique_ptr<ProcessGroup> group;
  ServerAccess servers;
};

Connections connect(const JobPlan& job, const RunPlan& run, const Identity& identity, const StorePtr& store,
                    ActivityLog& activity) {
  const auto on_wait = [&activity] { activity.doing(Activity::kCommunicating); };
  Connections connections;
  if (run.is_asynchronous()) {
    connections.group = make_single_group();
    connections.servers = connect_to_servers(job, run, identity.rank, store);
    connections.servers.on_wait = on_wait;
  } else {
    connections.group = meet(job, run, identity, store);
    connections.group->set_on_wait(on_wait);
  }
  return connections;
}

void train(const JobPlan& job, const RunPlan& run, const Dataset& dataset, int rank, Connections connections,
           const std::function<std::unique_ptr<ProcessGroup>()>& meet_again, const StorePtr& store,
           const RunPlace& place, ActivityLog& activity, EventSink& sink) {
  const bool leads = rank == 0;
  activity.doing(Activity::kBuilding);
  if (saves_checkpoints(job, run)) catch_first_stop_signals();
  const auto clock = std::make_shared<PhaseClock>();
  std::optional<Resumption> from;
  if (place.resume && run.run == "distributed") from = resume_from(*place.resume, store, leads);
  StrategyParts parts = strategy_parts(job, std::move(connections.group), clock);
  parts.servers = std::move(connections.servers);
  const auto strategy =
      strategy_of(job, run, std::move(parts), meet_again, from ? from->state.step : 0, sink);
  // The heap keeps what is freed (core/memory.h), which pays from step to step; what building the strategy
  // took, a whole copy of the variables in central_storage, is not needed again.
  ::malloc_trim(0);
  ShareLoader train_shares(dataset.train, train_options(job, run, rank));
  std::unique_ptr<ShareLoader> test_shares;
  if (evaluates_on(run, rank))
    test_shares = std::make_unique<ShareLoader>(dataset.test, test_options(job, run, rank));
  CallbackList callbacks({job, run, place.folder, sink}, leads);
  RunReporter reporter(job, run, callbacks);
  RunCheckpoints checkpoints(job, run, checkpoint_folder(place.folder), leads, callbacks);
  Trainer trainer(job, run, *strategy, train_shares, test_shares.get(), *clock, reporter, checkpoints,
                  callbacks, activity, leads);
  trainer.run(from ? &*from : nullptr);
}

}  // namespace

void run_replica(const JobPlan& job, const RunPlan& run, const Dataset& dataset, const Identity& identity,
                 const StorePtr& store, const RunPlace& place, StatusBoard& board, EventSink& sink) {
  ActivityLog activity(board, identity.local_rank);
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
  if (role.serves) return serve_parameters(job, run, role.number, identity.local_rank, store, board);
  Connections connections = connect(job, run, identity, store, activity);
  if (run.run == "overhead") {
    measure_overhead(job, run, dataset, sink);
  } else {
    const auto meet_again = [&] {
      return meet(job, run, identity, c10::make_intrusive<c10d::PrefixStore>("inspection", store));
    };
    train(job, run, dataset, identity.rank, std::move(connections), meet_again, store, place, activity, sink);
  }
}

}  // namespace dtrain
