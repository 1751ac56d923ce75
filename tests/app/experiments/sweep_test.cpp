// The points of a sweep: what they train, and why some cannot be made.
#include "experiments/sweep.h"

#include "catch.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

PlannedSweep plan(const SweepOptions& options, std::vector<std::string> overrides = {}) {
  overrides.insert(overrides.begin(), "strategy.kind=mirrored");
  const LoadedSpec loaded = small_spec(overrides);
  INFO(problems_of(loaded));
  REQUIRE(loaded.ok());
  PlannedSweep planned = plan_sweep(loaded.spec, find_dataset(loaded.spec.data), options);
  REQUIRE(planned.jobs.size() == planned.sweep.points.size());
  return planned;
}

// "replicas x per replica = global" of each point.
std::vector<std::string> batches_of(const PlannedSweep& planned) {
  std::vector<std::string> all;
  for (const SweepPoint& point : planned.sweep.points) {
    const std::string share = point.per_replica_batch ? std::to_string(*point.per_replica_batch) : "-";
    all.push_back(std::to_string(point.replicas) + " x " + share + " = " +
                  std::to_string(point.global_batch));
  }
  return all;
}

TEST_CASE("weak scaling keeps the batch of each replica") {
  const PlannedSweep planned = plan({.replicas = {1, 2, 3}, .batches = {4, 8}});
  CHECK(batches_of(planned) == std::vector<std::string>{"1 x 4 = 4", "2 x 4 = 8", "3 x 4 = 12", "1 x 8 = 8",
                                                        "2 x 8 = 16", "3 x 8 = 24"});
  for (size_t i = 0; i < planned.jobs.size(); ++i) {
    const SweepPoint& point = planned.sweep.points[i];
    CHECK(point.error.empty());
    REQUIRE(planned.jobs[i].runs.size() == 1);
    CHECK(planned.jobs[i].runs[0].replicas == point.replicas);
    CHECK(planned.jobs[i].runs[0].batch.global == point.global_batch);
    CHECK(planned.jobs[i].runs[0].batch.per_replica == point.per_replica_batch);
  }
}

TEST_CASE("strong scaling keeps the global batch, where it divides") {
  const PlannedSweep planned = plan({.replicas = {1, 2, 3, 4}, .batches = {8}, .strong = true});
  CHECK(batches_of(planned) == std::vector<std::string>{"1 x 8 = 8", "2 x 4 = 8", "3 x - = 8", "4 x 2 = 8"});
  for (const size_t i : {0, 1, 3}) {
    CHECK(planned.sweep.points[i].error.empty());
    CHECK(planned.jobs[i].runs[0].batch.global == 8);
  }
  CHECK(planned.sweep.points[2].exit_code == ExitCode::kUsage);
  CHECK_THAT(planned.sweep.points[2].error, ContainsSubstring("batch.global: 8 is not a multiple of 3"));
}

TEST_CASE("without batches, the spec's at the smallest number of replicas") {
  using Strings = std::vector<std::string>;
  const std::string accumulate = "batch.accumulate_steps=2";
  CHECK(batches_of(plan({.replicas = {2, 4}})) == Strings{"2 x 4 = 8", "4 x 4 = 16"});
  CHECK(batches_of(plan({.replicas = {2, 4}, .strong = true})) == Strings{"2 x 4 = 8", "4 x 2 = 8"});
  CHECK(batches_of(plan({.replicas = {2, 4}}, {accumulate})) == Strings{"2 x 4 = 16", "4 x 4 = 32"});
  CHECK(batches_of(plan({.replicas = {2, 4}, .strong = true}, {accumulate})) ==
        Strings{"2 x 4 = 16", "4 x 2 = 16"});
}

TEST_CASE("virtual replicas divide the global batch, however many replicas compute them") {
  const std::vector<std::string> overrides = {"strategy.virtual_replicas=4", "receipts.every_steps=5"};
  const PlannedSweep planned = plan({.replicas = {1, 2, 4}, .batches = {8, 10}, .strong = true}, overrides);
  CHECK(batches_of(planned) == std::vector<std::string>{"1 x 2 = 8", "2 x 2 = 8", "4 x 2 = 8", "1 x - = 10",
                                                        "2 x - = 10", "4 x - = 10"});
  for (size_t i = 0; i < 3; ++i) {
    CHECK(planned.sweep.points[i].error.empty());
    CHECK(planned.jobs[i].runs[0].batch.global == 8);
    CHECK_FALSE(planned.jobs[i].spec.receipts.every_steps);
  }
  CHECK(planned.sweep.points[3].exit_code == ExitCode::kUsage);
  CHECK(batches_of(plan({.replicas = {1, 2}, .strong = true}, overrides)) ==
        std::vector<std::string>{"1 x 4 = 16", "2 x 4 = 16"});
  CHECK_THROWS_WITH(plan({.replicas = {1, 2}}, overrides), ContainsSubstring("use --mode strong"));
}

TEST_CASE("a sweep trains on the validation part too: it measures speed alone") {
  const PlannedSweep planned = plan({.replicas = {1, 2}, .batches = {4}}, {"data.split.validation=0.25"});
  for (const JobPlan& job : planned.jobs) {
    CHECK_FALSE(job.spec.data.split.validation);
    CHECK(job.data.train_examples == 18);
    CHECK_FALSE(job.data.has_validation());
    CHECK(job.data.evaluated_examples() == 1);
  }
}

TEST_CASE("a spec with a global batch") {
  LoadedSpec loaded = small_spec({"strategy.kind=mirrored"});
  loaded.spec.batch.per_replica.reset();
  loaded.spec.batch.global = 12;
  const DatasetInfo data = find_dataset(loaded.spec.data);
  using Strings = std::vector<std::string>;
  const auto plan_global = [&](const SweepOptions& options) {
    return batches_of(plan_sweep(loaded.spec, data, options));
  };
  CHECK(plan_global({.replicas = {2, 4}}) == Strings{"2 x 6 = 12", "4 x 6 = 24"});
  CHECK(plan_global({.replicas = {2, 4}, .strong = true}) == Strings{"2 x 6 = 12", "4 x 3 = 12"});
  CHECK(plan_global({.replicas = {5, 6}, .strong = true}) == Strings{"5 x - = 12", "6 x 2 = 12"});
  CHECK_THROWS_WITH(plan_global({.replicas = {5, 6}}), ContainsSubstring("batch.global: 12 does not divide"));
}

TEST_CASE("a point trains its steps and no more: no baseline, no checkpoint, one example to evaluate") {
  const PlannedSweep planned = plan({.replicas = {1, 2}, .repeats = 2, .steps = 20},
                                    {"compare.baseline=one_device", "metrics.skip_steps=7", "train.epochs=1",
                                     "train.max_steps=5", "evaluate.every_epochs=1"});
  CHECK(planned.sweep.steps == 20);
  CHECK(planned.sweep.skipped_steps == 7);
  CHECK(planned.sweep.repeats == 2);
  for (const JobPlan& job : planned.jobs) {
    REQUIRE(job.runs.size() == 1);
    CHECK(job.runs[0].kind == RunKind::kDistributed);
    CHECK(job.data.test_examples == 1);  // what the replicas load
    CHECK(job.runs[0].total_steps == 27);
    CHECK(job.spec.data.test_examples == 1);
    CHECK(job.spec.evaluate.every_epochs > job.runs[0].epochs);
    CHECK_FALSE(job.spec.checkpoint.saves());
  }
}

TEST_CASE("all points have the same threads per replica") {
  for (const JobPlan& job : plan({.replicas = {1, 1024}}, {"strategy.threads_per_replica=auto"}).jobs)
    CHECK(job.spec.strategy.threads_per_replica == 1);
  for (const JobPlan& job : plan({.replicas = {1, 2}}, {"strategy.threads_per_replica=3"}).jobs)
    CHECK(job.spec.strategy.threads_per_replica == 3);
}

TEST_CASE("a list of devices does not fix the number of replicas") {
  const PlannedSweep planned = plan({.replicas = {1, 3}}, {"strategy.devices=[cpu,cpu]"});
  CHECK(planned.sweep.points[0].error.empty());
  CHECK(planned.sweep.points[1].error.empty());
}

TEST_CASE("of different devices, the replicas of a point get the first ones") {
  const PlannedSweep planned = plan({.replicas = {1, 2, 4}}, {"strategy.devices=[cuda:2,cuda:0,cuda:1]"});
  using Strings = std::vector<std::string>;
  CHECK(planned.jobs[0].devices == Strings{"cuda:2"});
  CHECK(planned.jobs[1].devices == Strings{"cuda:2", "cuda:0"});
  CHECK(planned.sweep.points[1].error.empty());
  CHECK_THAT(planned.sweep.points[2].error,
             ContainsSubstring("strategy.devices: lists 3 devices for 4 replicas"));
}

TEST_CASE("one device cannot be several replicas") {
  const LoadedSpec loaded = small_spec();
  const PlannedSweep planned =
      plan_sweep(loaded.spec, find_dataset(loaded.spec.data), {.replicas = {1, 2}, .batches = {}});
  CHECK(planned.sweep.points[0].error.empty());
  CHECK_THAT(planned.sweep.points[1].error,
             ContainsSubstring("strategy.replicas: one_device trains one replica, not 2"));
}

TEST_CASE("a batch beyond its bounds is a point that says so") {
  const PlannedSweep planned = plan({.replicas = {1}, .batches = {4, 2'000'000}});
  CHECK(planned.sweep.points[0].error.empty());
  CHECK(planned.sweep.points[1].exit_code == ExitCode::kUsage);
  CHECK_THAT(planned.sweep.points[1].error, ContainsSubstring("batch.per_replica: "));
}

TEST_CASE("what the sweep says of its job") {
  const Sweep sweep = plan({.replicas = {1, 2}, .strong = true}, {"strategy.communication=gloo"}).sweep;
  CHECK(sweep.name == "small");
  CHECK(sweep.strong);
  CHECK(sweep.strategy == "mirrored");
  CHECK(sweep.communication == "gloo");
  CHECK(sweep.dataset == "synthetic");
  CHECK_FALSE(sweep.dataset_requested);
  CHECK(sweep.parameters == 16 * 5 + 5 + 5 * 3 + 3);
  CHECK(sweep.dtype == "float32");
  CHECK(sweep.cores >= 1);
}

}  // namespace
}  // namespace dtrain
