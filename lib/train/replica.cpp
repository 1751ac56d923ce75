#include "train/replica.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "core/random.h"
#include "launch/cores.h"
#include "train/trainer.h"

namespace dtrain {
namespace {

std::unique_ptr<ProcessGroup> make_group(const JobPlan& job, const RunPlan& run, const Identity& identity,
                                         const StorePtr& store) {
  if (run.replicas == 1) return make_single_group();
  const auto timeout =
      std::chrono::milliseconds(static_cast<int64_t>(job.spec.strategy.timeout_seconds * 1000));
  return make_gloo_group(c10::make_intrusive<c10d::PrefixStore>(run.run, store), identity.rank,
                         static_cast<int>(run.replicas), timeout);
}

std::unique_ptr<Strategy> build_strategy(const JobPlan& job, const RunPlan& run,
                                         std::unique_ptr<ProcessGroup> group) {
  StrategyParts parts;
  parts.model =
      build_model(job.model, dtype_from_name(job.spec.model.dtype), static_cast<uint64_t>(job.spec.seed));
  parts.optimizer = make_optimizer(job.spec.train.optimizer, parts.model->parameters());
  parts.group = std::move(group);
  parts.bucket_bytes = static_cast<int64_t>(job.spec.strategy.bucket_megabytes * (1 << 20));
  return make_strategy(run.strategy, std::move(parts));
}

LoaderOptions train_options(const JobPlan& job, const RunPlan& run, int64_t rank) {
  LoaderOptions options;
  options.plan = run.batch;
  options.rank = rank;
  options.shuffle = job.spec.data.shuffle;
  options.seed = static_cast<uint64_t>(job.spec.seed);
  options.normalisation = {job.spec.data.mean, job.spec.data.standard_deviation};
  options.dtype = dtype_from_name(job.spec.model.dtype);
  options.prefetch = job.spec.data.prefetch;
  return options;
}

LoaderOptions test_options(const JobPlan& job, const RunPlan& run, int64_t rank) {
  LoaderOptions options = train_options(job, run, rank);
  options.shuffle = false;
  options.plan = BatchPlan{.per_replica = job.spec.evaluate.batch_per_replica,
                           .replicas = run.replicas,
                           .accumulate_steps = 1,
                           .global = job.spec.evaluate.batch_per_replica * run.replicas,
                           .drop_remainder = false};
  return options;
}

}  // namespace

void run_replica(const JobPlan& job, const RunPlan& run, const Dataset& dataset, const Identity& identity,
                 const StorePtr& store, StatusBoard& board, EventSink& sink) {
  ActivityLog activity(board, identity.rank);
  at::set_num_threads(static_cast<int>(run.threads_per_replica));
  if (run.replicas > 1) {
    keep_to_own_cores(identity.local_rank, identity.local_world_size,
                      static_cast<int>(run.threads_per_replica));
  }
  // For dropout and the like: each replica draws its own.
  at::manual_seed(derive_seed(static_cast<uint64_t>(job.spec.seed), SeedPurpose::kReplica,
                              static_cast<uint64_t>(identity.rank)));

  activity.doing(Activity::kConnecting);
  std::unique_ptr<ProcessGroup> group = make_group(job, run, identity, store);
  group->set_on_wait([&activity] { activity.doing(Activity::kCommunicating); });

  activity.doing(Activity::kBuilding);
  const std::unique_ptr<Strategy> strategy = build_strategy(job, run, std::move(group));
  ShareLoader train(dataset.train, train_options(job, run, identity.rank));
  std::unique_ptr<ShareLoader> test;
  if (run.evaluates)
    test = std::make_unique<ShareLoader>(dataset.test, test_options(job, run, identity.rank));

  RunReporter reporter(job, run, sink);
  Trainer(job, run, *strategy, train, test.get(), reporter, activity).run();
}

}  // namespace dtrain
