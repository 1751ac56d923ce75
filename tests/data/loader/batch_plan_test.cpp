#include "loader/batch_plan.h"

#include <algorithm>
#include <limits>

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

TEST_CASE("shares cover the whole exactly, in order, and differ by at most one") {
  for (const int64_t begin : {0, 17}) {
    for (int64_t size = 0; size <= 40; ++size) {
      for (int64_t replicas = 1; replicas <= 9; ++replicas) {
        int64_t next = begin;
        int64_t least = std::numeric_limits<int64_t>::max();
        int64_t most = 0;
        for (int64_t rank = 0; rank < replicas; ++rank) {
          const Range share = share_of({begin, begin + size}, rank, replicas);
          REQUIRE(share.begin == next);
          next = share.end;
          least = std::min(least, share.size());
          most = std::max(most, share.size());
        }
        REQUIRE(next == begin + size);
        REQUIRE(most - least <= 1);
        REQUIRE(least >= 0);
      }
    }
  }
}

TEST_CASE("shares of huge ranges do not overflow") {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  CHECK(share_of({0, huge}, 1023, 1024).end == huge);
}

TEST_CASE("the steps of an epoch cover its examples exactly") {
  for (const int64_t examples : {1, 63, 64, 65, 1000}) {
    BatchPlan plan;
    plan.global = 64;
    int64_t next = 0;
    for (int64_t step = 0; step < plan.steps_per_epoch(examples); ++step) {
      const Range range = plan.step_range(step, examples);
      CHECK(range.begin == next);
      CHECK(range.size() > 0);
      CHECK(range.size() <= 64);
      next = range.end;
    }
    CHECK(next == examples);
  }
}

TEST_CASE("drop_remainder leaves out only the partial step") {
  BatchPlan plan;
  plan.global = 64;
  plan.drop_remainder = true;
  CHECK(plan.steps_per_epoch(1000) == 15);
  CHECK(plan.steps_per_epoch(64) == 1);
  CHECK(plan.steps_per_epoch(63) == 0);
  CHECK(plan.step_range(14, 1000).size() == 64);
}

TEST_CASE("a batch given for a replica and one given for all resolve to the same plan") {
  JobSpec spec;
  spec.batch.accumulate_steps = 2;
  spec.batch.per_replica = 16;
  const BatchPlan per_replica = resolve_batch(spec, 3);
  CHECK(per_replica.global == 96);
  spec.batch.per_replica.reset();
  spec.batch.global = 96;
  const BatchPlan global = resolve_batch(spec, 3);
  CHECK(global.per_replica == 16);
  CHECK(global.global == 96);
  CHECK(global.parts == 3);
}

TEST_CASE("with a global batch and one of a replica, each replica makes the fewest equal passes") {
  JobSpec spec;
  spec.batch.global = 96;
  spec.batch.per_replica = 20;
  CHECK(resolve_batch(spec, 1).accumulate_steps == 6);  // of 16: 5 passes would not be equal
  CHECK(resolve_batch(spec, 1).per_replica == 16);
  CHECK(resolve_batch(spec, 3).accumulate_steps == 2);
  CHECK(resolve_batch(spec, 3).global == 96);
  spec.batch.per_replica = 200;
  CHECK(resolve_batch(spec, 2).per_replica == 48);
  spec.batch.per_replica = 7;  // of a prime share, only 1 example a pass is left
  spec.batch.global = 13;
  CHECK(resolve_batch(spec, 1).accumulate_steps == 13);
  spec.batch.per_replica = kLargestThatFits;  // not measured yet
  CHECK(resolve_batch(spec, 1).per_replica == 13);
}

TEST_CASE("a global batch that does not divide is an error that says what would") {
  JobSpec spec;
  spec.batch.global = 100;
  spec.batch.accumulate_steps = 2;
  CHECK_THROWS_WITH(resolve_batch(spec, 3), ContainsSubstring("multiple of 6"));
  try {
    resolve_batch(spec, 3);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
  }
}

}  // namespace
}  // namespace dtrain
