// Kept features where hosts differ.
#include <ATen/ATen.h>

#include <atomic>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "catch.h"
#include "data/dataset.h"
#include "small_jobs.h"
#include "train/assembly.h"
#include "train/replica.h"

namespace dtrain {
namespace {

TEST_CASE("a host that keeps no features waits for one that computes them") {
  const JobPlan job = small_job({"strategy.kind=multi_worker_mirrored", "strategy.replicas=2",
                                 "phases=[{steps: 3, trainable: head, cache_features: memory}]"});
  const RunPlan& run = job.distributed_run();
  const PhasePlan& kept = run.phases.front();
  REQUIRE(kept.features.layers > 0);
  PhasePlan none = kept;
  none.features = {};
  none.features.reason = "they take more than a quarter of the memory here";
  const Dataset dataset = load_dataset(job.spec.data, 42);
  const StorePtr store = c10::make_intrusive<c10d::HashStore>();
  const auto features_on = [&](int host, const PhasePlan& phase) {
    Identity identity;
    identity.rank = identity.host = host;
    identity.world_size = identity.hosts = 2;
    const RunContext files;
    const auto board = StatusBoard::create(1);
    RecordingSink sink;
    return with_features({job, run, identity, store, files, *board, sink}, phase, *initial_model(job),
                         dataset, /*call=*/1);
  };
  std::atomic<bool> went_on = false;
  Dataset same;
  std::jthread other([&] {
    same = features_on(1, none);
    went_on = true;
  });
  while (!store->check({"distributed/features 1/here/1"}) && !went_on) std::this_thread::yield();
  CHECK_FALSE(went_on.load());
  const Dataset made = features_on(0, kept);
  other.join();
  CHECK(made.train != dataset.train);
  CHECK(made.train->size() == dataset.train->size());
  CHECK(same.train == dataset.train);
  CHECK(store->add("distributed/features 1/work", 0) > 0);  // else the other waits no longer than a timeout
}

}  // namespace
}  // namespace dtrain
