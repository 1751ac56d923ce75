// Advice about steps that have become slow.
#include "callbacks/slow_steps.h"

#include "catch.h"

namespace dtrain {
namespace {

TEST_CASE("slow steps of threads that wait for cores are told once") {
  SlowSteps steps;
  CHECK_FALSE(steps.look(2.5, 10, 3));
  CHECK_FALSE(steps.look(2.0, 12, 3.1));
  CHECK_FALSE(steps.look(3.9, 14, 5));  // not twice as slow
  const auto advice = steps.look(7.25, 16, 6.5);
  REQUIRE(advice);
  CHECK(*advice ==
        "a step takes 7.25 ms where it took 2: other programs use the same cores, for which threads of this "
        "replica waited 1.5 s in the last 2.0 s; end those programs, or leave them a core "
        "(strategy.threads_per_replica, strategy.replicas)");
  CHECK_FALSE(steps.look(7.25, 18, 8));
}

TEST_CASE("steps that are slow for another reason, or different ones, are nothing to tell") {
  SlowSteps steps;
  CHECK_FALSE(steps.look(2, 10, 3));
  CHECK_FALSE(steps.look(9, 12, 3.3));  // they waited a seventh of the time
  steps.begin();
  CHECK_FALSE(steps.look(9, 14, 5));
  CHECK(steps.look(18, 16, 7));
}

}  // namespace
}  // namespace dtrain
