#include "strategy/decisions.h"

#include "catch.h"

namespace dtrain {
namespace {

// Each of the others wants `others`; rank 0 is this replica or one of them.
class OtherReplicas : public Strategy {
 public:
  Decision others;
  bool leads = true;
  int64_t place_variables() override { return 0; }
  bool begin_phase(int64_t, const TrainedLayers&) override { return true; }
  MetricSums train_step(const Share&, const StepContext&) override { return MetricSums(); }
  MetricSums evaluate(const Share&) override { return MetricSums(); }
  MetricSums sum_over_replicas(MetricSums own) override { return own; }
  Decision agree(const Decision& own) override {
    const Decision& leader = leads ? own : others;
    return {own.save || others.save, own.leave || others.leave, leader.end, leader.steps_until, others.cost};
  }
  std::string check_variables() override { return ""; }
  CollectedVariables collect_variables() override { return {}; }
  int64_t restore_variables(const CollectedVariables&, int64_t step) override { return step; }
  std::optional<WorkersReport> end_training() override { return std::nullopt; }
  void finish() override {}
};

TEST_CASE("what the replicas agree on is done, and rank 0 says when they agree again") {
  OtherReplicas others;
  Decisions leader(others);
  CHECK_FALSE(leader.agree({}, 1).leave);
  CHECK(leader.agree({.leave = true}, 2).leave);
  others.leads = false;
  others.others = {.save = true, .end = true, .steps_until = 7};
  Decisions follower(others);
  const Decision decision = follower.agree({.leave = true}, 10);
  CHECK(decision.save);
  CHECK(decision.leave);
  CHECK(decision.end);
  CHECK_FALSE(follower.are_due(16));
  CHECK(follower.are_due(17));
}

TEST_CASE("quick steps agree rarely, and never not at all") {
  OtherReplicas nobody;
  Decisions decisions(nobody);
  int64_t exchanges = 0;
  for (int64_t step = 1; step <= 1000; ++step) {  // within a few milliseconds
    if (!decisions.are_due(step)) continue;
    decisions.agree({}, step);
    ++exchanges;
  }
  CHECK(exchanges >= 2);
  CHECK(exchanges <= 20);
}

TEST_CASE("a phase's first step is followed by a decision, however quick the steps before it were") {
  OtherReplicas nobody;
  Decisions decisions(nobody);
  for (int64_t step = 1; step <= 100; ++step) {
    if (decisions.are_due(step)) decisions.agree({}, step);
  }
  decisions.begin_phase(100);
  CHECK_FALSE(decisions.are_due(100));
  CHECK(decisions.are_due(101));
  decisions.agree({}, 101);
  CHECK(decisions.are_due(103));
}

TEST_CASE("ends of short epochs do not stretch the interval") {
  OtherReplicas nobody;
  Decisions decisions(nobody);
  decisions.agree({}, 1);
  for (int64_t epoch = 0; epoch < 100; ++epoch) decisions.agree({}, 2);
  CHECK_FALSE(decisions.are_due(2));
  CHECK(decisions.are_due(10));
}

TEST_CASE("what takes long to agree on is asked rarely: at most 2 % of the time, and every two seconds") {
  CHECK(seconds_between_decisions(0) == 0.25);
  CHECK(seconds_between_decisions(0.01) == Approx(0.5));
  CHECK(seconds_between_decisions(0.04) == 2);
  CHECK(seconds_between_decisions(std::numeric_limits<double>::infinity()) == 2);
}

}  // namespace
}  // namespace dtrain
