#include "train/replica.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "core/random.h"
#include "launch/cores.h"
#include "train/assembly.h"
#include "train/overhead.h"
#include "train/trainer.h"

namespace dtrain {
namespace {

std::unique_ptr<ProcessGroup> meet(const JobPlan& job, const RunPlan& run, const Identity& identity,
                                   const StorePtr& store) {
  const StrategySpec& strategy = job.spec.strategy;
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(strategy.timeout_seconds * 1000));
  return make_group(strategy.communication, c10::make_intrusive<c10d::PrefixStore>(run.run, store),
                    identity.rank, static_cast<int>(run.replicas), timeout);
}

void train(const JobPlan& job, const RunPlan& run, const Dataset& dataset,
           std::unique_ptr<ProcessGroup> group, ActivityLog& activity, EventSink& sink) {
  const int rank = group->rank();
  activity.doing(Activity::kBuilding);
  const auto clock = std::make_shared<PhaseClock>();
  const auto strategy = build_strategy(job, run.strategy, std::move(group), clock);
  ShareLoader train_shares(dataset.train, train_options(job, run, rank));
  std::unique_ptr<ShareLoader> test_shares;
  if (run.evaluates) test_shares = std::make_unique<ShareLoader>(dataset.test, test_options(job, run, rank));
  RunReporter reporter(job, run, sink);
  Trainer(job, run, *strategy, train_shares, test_shares.get(), *clock, reporter, activity).run();
}

}  // namespace

void run_replica(const JobPlan& job, const RunPlan& run, const Dataset& dataset, const Identity& identity,
                 const StorePtr& store, StatusBoard& board, EventSink& sink) {
  ActivityLog activity(board, identity.rank);
  at::set_num_threads(static_cast<int>(run.threads_per_replica));
  at::globalContext().setFlushDenormal(true);
  if (run.replicas > 1) {
    keep_to_own_cores(identity.local_rank, identity.local_world_size,
                      static_cast<int>(run.threads_per_replica));
  }
  // For dropout and the like: each replica draws its own.
  at::manual_seed(derive_seed(static_cast<uint64_t>(job.spec.seed), SeedPurpose::kReplica,
                              static_cast<uint64_t>(identity.rank)));

  activity.doing(Activity::kConnecting);
  std::unique_ptr<ProcessGroup> group = meet(job, run, identity, store);
  group->set_on_wait([&activity] { activity.doing(Activity::kCommunicating); });

  if (run.run == "overhead") {
    measure_overhead(job, run, dataset, sink);
  } else {
    train(job, run, dataset, std::move(group), activity, sink);
  }
}

}  // namespace dtrain
