// The groups that the replicas of a run form, one generation after the other.
#include "train/replica.h"

#include <ATen/ATen.h>

#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "catch.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

class NoSink : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

TEST_CASE("replicas form a group again, and each generation has its own") {
  constexpr int kReplicas = 3;
  JobPlan job = small_job({"strategy.kind=mirrored", "strategy.replicas=3"});
  job.communication = GENERATE("shared_memory", "gloo");
  const RunPlan& run = job.distributed_run();
  REQUIRE(run.replicas == kReplicas);
  const StorePtr store = c10::make_intrusive<c10d::HashStore>();
  const RunContext files;
  const auto board = StatusBoard::create(kReplicas);
  std::vector<std::vector<double>> sums(kReplicas);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < kReplicas; ++rank) {
    ranks.emplace_back([&, rank] {
      Identity identity;
      identity.rank = identity.local_rank = rank;
      identity.world_size = identity.local_world_size = kReplicas;
      NoSink sink;
      const ReplicaContext context{job, run, identity, store, files, *board, sink};
      ReplicaGroups groups(context, nullptr);
      std::vector<double>& own = sums[static_cast<size_t>(rank)];
      const auto add = [&](ProcessGroup& group, double value) {
        at::Tensor sum = at::full({1}, value, at::kDouble);
        group.all_reduce_sum(sum);
        own.push_back(sum.item<double>());
      };
      auto first = groups.make_group();
      add(*first, 1);
      const auto second = groups.make_group();  // beside the first, as an inspection uses it
      add(*second, 10 + rank);
      add(*first, 2);
      first.reset();
      const auto third = groups.make_group();
      add(*third, 100);
    });
  }
  ranks.clear();
  for (const std::vector<double>& own : sums) CHECK(own == std::vector<double>{3, 33, 6, 300});
}

}  // namespace
}  // namespace dtrain
