#include "train/decisions.h"

#include <ATen/ATen.h>

#include "catch.h"

namespace dtrain {
namespace {

// Adds what other replicas say to what this one does.
class OtherReplicas : public Strategy {
 public:
  std::vector<double> others = {0, 0, 0};
  int64_t place_variables() override { return 0; }
  MetricSums train_step(const Share&, double) override { return MetricSums(); }
  MetricSums evaluate(const Share&) override { return MetricSums(); }
  MetricSums sum_over_replicas(MetricSums own) override {
    own.add(MetricSums(others));
    return own;
  }
  std::string check_variables() override { return ""; }
  CollectedVariables collect_variables() override { return {}; }
  int64_t restore_variables(const CollectedVariables&, int64_t step) override { return step; }
  std::optional<WorkersReport> end_training() override { return std::nullopt; }
  void finish() override {}
};

TEST_CASE("anyone may ask to leave or to save; when to end is rank 0's to say") {
  OtherReplicas others;
  Decisions leader(others, true);
  CHECK_FALSE(leader.share({}, 1).leave);
  CHECK(leader.share({.leave = true}, 2).leave);
  const Decision both = leader.share({.save = true, .end = true}, 3);
  CHECK(both.save);
  CHECK(both.end);
  CHECK_FALSE(both.leave);
  others.others = {2, 0, 0};
  CHECK(leader.share({}, 4).leave);
  CHECK_FALSE(leader.share({}, 4).save);
  others.others = {(1 << 20) * 3.0, 0, 0};  // three of them want to save
  CHECK(leader.share({}, 5).save);
  CHECK_FALSE(leader.share({}, 5).leave);

  Decisions follower(others, false);
  others.others = {0, 1, 7};
  CHECK(follower.share({}, 8).end);
  others.others = {1, 0, 7};
  const Decision decision = follower.share({.save = true, .leave = false, .end = true}, 10);
  CHECK(decision.save);
  CHECK(decision.leave);
  CHECK_FALSE(decision.end);
  CHECK_FALSE(follower.are_due(16));
  CHECK(follower.are_due(17));
}

TEST_CASE("quick steps exchange decisions rarely, and never not at all") {
  OtherReplicas nobody;
  Decisions decisions(nobody, true);
  int64_t exchanges = 0;
  for (int64_t step = 1; step <= 1000; ++step) {  // within a few milliseconds
    if (!decisions.are_due(step)) continue;
    decisions.share({}, step);
    ++exchanges;
  }
  CHECK(exchanges >= 2);
  CHECK(exchanges <= 20);
}

}  // namespace
}  // namespace dtrain
