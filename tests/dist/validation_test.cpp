// Jobs with a validation part, with every strategy: what is evaluated when, and that replicas change nothing.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "catch.h"
#include "job.h"

namespace dtrain {
namespace {

// 400 training examples, 60 of them for validation: 340 = 10 * 32 + 20.
const Arguments kSplit = {"data.split.validation=0.15", "data.split.seed=3"};
const Arguments kDouble = {"model.dtype=float64", "metrics.every_steps=1"};

void run_to_end(const Job& job, const Arguments& overrides = {}) {
  const Finished run = run_program(job.run(Job::set(kSplit) + Job::set(overrides)));
  INFO(run.output << run.errors);
  REQUIRE(run.exit_code == 0);
}

// "validation 1", "test 2": the part and the epoch of every evaluation of the distributed run.
Arguments evaluations_of(const Job& job, const std::string& run = "distributed") {
  Arguments all;
  for (const Event& eval : job.events("eval", run)) {
    all.push_back(eval.at("part").get<std::string>() + " " + std::to_string(eval.at("epoch").get<int64_t>()));
    CHECK(eval.at("examples") == (eval.at("part") == "test" ? 100 : 60));
  }
  return all;
}

// What dtrain eval makes of a part, with the run's newest checkpoint.
Event evaluated(const Job& job, const std::string& part, const std::string& replicas = "1") {
  const Finished run =
      run_program({"eval", job.run_folder(), "--json", "--replicas", replicas, "--split", part});
  INFO(run.errors);
  REQUIRE(run.exit_code == 0);
  return Event::parse(run.output);
}

// The losses of all steps and evaluations, and what the end says.
std::vector<double> losses_of(const Job& job) {
  std::vector<double> losses;
  for (const char* kind : {"step", "eval"}) {
    for (const Event& event : job.events(kind, "distributed")) losses.push_back(event.at("loss"));
  }
  const Event end = job.event("run_end", "distributed");
  losses.push_back(end.at("loss"));
  losses.push_back(end.at("validation").at("loss"));
  return losses;
}

void check_like_one_device(const Job& job) {
  static const Job alone;
  static const std::vector<double> expected = [] {
    run_to_end(alone, kDouble + Arguments{"strategy.kind=one_device", "strategy.replicas=1",
                                          "batch.per_replica=32"});
    return losses_of(alone);
  }();
  const std::vector<double> losses = losses_of(job);
  REQUIRE(losses.size() == expected.size());
  for (size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == Approx(expected[i]).epsilon(1e-12));
}

TEST_CASE("two replicas train and validate on the same parts as one") {
  const Arguments strategy =
      GENERATE(Arguments{"strategy.communication=shared_memory"}, Arguments{"strategy.communication=gloo"},
               Arguments{"strategy.kind=multi_worker_mirrored"}, Arguments{"strategy.kind=central_storage"});
  INFO(strategy.front());
  const Job job;
  run_to_end(job, kDouble + strategy);
  CHECK(evaluations_of(job) == Arguments{"validation 1", "validation 2", "test 2"});
  CHECK(job.event("run_start", "distributed").at("train_examples") == 340);
  for (const Event& epoch : job.events("epoch")) CHECK(epoch.at("examples") == 340);
  check_like_one_device(job);
}

TEST_CASE("the baseline has the same parts, and the comparison is of the tests") {
  const Job job;
  run_to_end(job, {"compare.baseline=one_device"});
  CHECK(evaluations_of(job, "baseline") == evaluations_of(job));
  const Event comparison = job.event("comparison", "distributed");
  for (const char* run : {"baseline", "distributed"}) {
    CHECK(comparison.at(run).at("part") == "test");
    CHECK(comparison.at(run).at("loss") == job.events("eval", run).back().at("loss"));
    CHECK(comparison.at(run).at("validation").at("loss") == job.events("eval", run).at(1).at("loss"));
  }
  CHECK_THAT(comparison.at("verdict").get<std::string>(), ContainsSubstring("the test accuracy is"));
}

TEST_CASE("workers of a parameter server share what is left, and worker 0 validates and tests") {
  const Job job(
      replace_once(kSmallSpec, "{kind: mirrored, replicas: 2,", "{kind: parameter_server, workers: 2,"));
  run_to_end(job);
  CHECK(evaluations_of(job) == Arguments{"validation 1", "validation 2", "test 2"});
  int64_t examples = 0;
  const Event end = job.event("run_end", "distributed");
  for (const Event& worker : end.at("workers")) examples += worker.at("examples").get<int64_t>();
  CHECK(examples == 2 * 340);
  CHECK(job.is_gone(0));
}

TEST_CASE("a run that goes on has the same validation part and one test; another part is refused") {
  const Job whole, job;
  const Arguments more = {"checkpoint.every_epochs=1", "metrics.every_steps=1"};
  run_to_end(whole, more + Arguments{"train.epochs=4"});
  run_to_end(job, more);
  CHECK(evaluations_of(job) == Arguments{"validation 1", "validation 2", "test 2"});
  const Arguments resume = {"run", "--resume", job.run_folder().string(), "--set", "train.epochs=4"};
  for (const Arguments& other :
       {Arguments{"data.split.seed=4"}, Arguments{"data.split.validation=0.2"},
        Arguments{"data.split.validation=none"}, Arguments{"data.train_examples=399"}}) {
    INFO(other.front());
    const Finished refused = run_program(resume + Job::set(other));
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.errors, ContainsSubstring("cannot resume from the checkpoint"));
  }
  const Finished resumed = run_program(resume);
  INFO(resumed.errors);
  REQUIRE(resumed.exit_code == 0);
  CHECK(evaluations_of(job) ==
        Arguments{"validation 1", "validation 2", "validation 3", "validation 4", "test 4"});
  CHECK(losses_of(job) == losses_of(whole));
}

TEST_CASE("early stopping and the best checkpoint go by the validation part") {
  const Job job;
  run_to_end(job, {"train.epochs=60", "callbacks.early_stopping.metric=loss",
                   "callbacks.early_stopping.patience=2", "callbacks.early_stopping.min_delta=0.01",
                   "checkpoint.every_epochs=1", "checkpoint.keep=1", "checkpoint.best.metric=loss"});
  const auto evals = job.events("eval", "distributed");
  REQUIRE(evals.size() >= 4);
  double best = 1e9, lowest = 1e9;
  int64_t waited = 0, best_step = 0;
  for (size_t i = 0; i + 1 < evals.size(); ++i) {
    CHECK(evals[i].at("part") == "validation");
    CHECK(waited < 2);
    const auto loss = evals[i].at("loss").get<double>();
    waited = loss < best - 0.01 ? 0 : waited + 1;
    if (waited == 0) best = loss;
    if (loss < lowest) best_step = evals[i].at("step");
    lowest = std::min(lowest, loss);
  }
  CHECK(waited == 2);
  CHECK(evals.back().at("part") == "test");
  const auto name = fmt::format("step-{:09}", best_step);
  CHECK(std::filesystem::exists(job.run_folder() / "checkpoints" / name / "manifest.json"));
  // The weights that early stopping hands back are those that were tested.
  CHECK(evaluated(job, "validation").at("loss").get<double>() == Approx(lowest).epsilon(1e-6));
  CHECK(evaluated(job, "test").at("accuracy") == evals.back().at("accuracy"));
  const Event end = job.event("run_end", "distributed");
  CHECK(end.at("validation").at("loss").get<double>() == Approx(lowest).epsilon(1e-6));
  CHECK(end.at("loss") == evals.back().at("loss"));
}

TEST_CASE("eval comes to what the run did, for every part and number of processes") {
  const Job job;
  run_to_end(job, {"checkpoint.every_epochs=1"});
  const auto evals = job.events("eval");
  REQUIRE(evals.size() == 3);
  for (const char* replicas : {"1", "2"}) {
    for (const Event& trained : {evals[1], evals[2]}) {
      INFO(trained << ", " << replicas);
      const Event result = evaluated(job, trained.at("part"), replicas);
      for (const char* same : {"examples", "accuracy"}) CHECK(result.at(same) == trained.at(same));
      CHECK(result.at("loss").get<double>() == Approx(trained.at("loss").get<double>()).epsilon(1e-6));
    }
  }
}

}  // namespace
}  // namespace dtrain
