// N replicas with batch B train as one with batch N * B, across processes.
#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

struct Losses {
  double evaluation = 0;
  std::vector<double> steps;
  std::vector<double> gradient_norms;  // by step
};

Losses losses_of(const Job& job, const Arguments& overrides) {
  const Finished run = run_program(job.run(Job::set({"metrics.every_steps=1"}) + Job::set(overrides)));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  Losses losses;
  losses.evaluation = job.event("run_end", "distributed").at("loss");
  for (const Event& step : job.events("step")) {
    losses.steps.push_back(step.at("loss"));
    losses.gradient_norms.push_back(step.at("gradient_norm"));
  }
  return losses;
}

void check_equal(const std::string& replicas, const std::string& batch, const std::string& global,
                 const Arguments& more) {
  const Job several, one;
  const Losses distributed =
      losses_of(several, Arguments{"strategy.replicas=" + replicas, "batch.per_replica=" + batch} + more);
  const Losses alone = losses_of(
      one,
      Arguments{"strategy.kind=one_device", "strategy.replicas=1", "batch.per_replica=" + global} + more);
  CHECK(distributed.evaluation == Approx(alone.evaluation).epsilon(1e-6));
  REQUIRE(distributed.steps.size() == alone.steps.size());
  for (size_t step = 0; step < alone.steps.size(); ++step) {
    CHECK(distributed.steps[step] == Approx(alone.steps[step]).epsilon(1e-5));
    CHECK(distributed.gradient_norms[step] == Approx(alone.gradient_norms[step]).epsilon(1e-3));
  }
}

TEST_CASE("two replicas equal one with twice the batch") {
  const std::string communication = GENERATE("shared_memory", "gloo");
  check_equal("2", "16", "32", {"strategy.communication=" + communication});  // 400 = 12 * 32 + 16
}

TEST_CASE("three replicas equal one with three times the batch, with a partial last batch") {
  check_equal("3", "16", "48", {});  // 400 = 8 * 48 + 16, shared as 6, 5 and 5
}

TEST_CASE("more replicas than samples in the last batch") {
  const std::string communication = GENERATE("shared_memory", "gloo");
  // 97 = 2 * 48 + 1: two replicas have nothing to do in an epoch's last step.
  check_equal("3", "16", "48",
              {"data.train_examples=97", "train.epochs=4", "strategy.communication=" + communication});
}

TEST_CASE("fewer test examples than replicas are all evaluated once") {
  const Job job;
  losses_of(job, {"strategy.replicas=3", "data.test_examples=2"});
  for (const Event& eval : job.events("eval")) CHECK(eval.at("examples") == 2);
}

TEST_CASE("the gradient's norm is reported for the last step of each window, as it is before clipping") {
  const Job job;
  const Finished run = run_program(
      job.run(Job::set({"metrics.every_steps=5", "metrics.inspect_step=10", "train.clip_norm=0.001"})));
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  const Event inspection = job.event("inspect", "distributed");
  const std::vector<Event> steps = job.events("step", "distributed");
  REQUIRE(steps.at(1).at("step") == 10);
  CHECK(steps[1].at("gradient_norm") > 0.001);
  CHECK(steps[1].at("gradient_norm").get<double>() ==
        Approx(inspection.at("expected_gradient_norm").get<double>()).epsilon(1e-5));
  for (const Event& step : steps) CHECK(step.contains("gradient_norm"));
}

}  // namespace
}  // namespace dtrain
