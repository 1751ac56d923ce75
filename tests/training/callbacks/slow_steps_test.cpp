// Advice about steps that have become slow.
#include "callbacks/run_reporter.h"

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
        "a step takes 7.25 ms where it took 2: threads of this replica waited 1.5 s in the last 2.0 s for "
        "cores that others use too; end other programs there, or leave them a core "
        "(strategy.threads_per_replica, strategy.replicas)");
  CHECK_FALSE(steps.look(7.25, 18, 8));
}

TEST_CASE("threads that wait for cores from the beginning are told, though no step was faster") {
  SlowSteps steps;
  CHECK_FALSE(steps.look(5, 100, 40));
  CHECK_FALSE(steps.look(5, 105, 42.5));  // too early
  const auto advice = steps.look(5, 112, 44);
  REQUIRE(advice);
  CHECK_THAT(*advice,
             ContainsSubstring("waited 4.0 s in 12.0 s for cores that others use too; end other programs"));
  CHECK_FALSE(steps.look(5, 120, 50));
  SlowSteps alone;
  CHECK_FALSE(alone.look(5, 100, 40));
  CHECK_FALSE(alone.look(5, 150, 49));
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
