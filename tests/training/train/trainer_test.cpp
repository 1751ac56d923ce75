#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.h"
#include "fake_training.h"

namespace dtrain {
namespace {

TEST_CASE("every step of every epoch is trained exactly once, in order") {
  Training training;
  training.run();
  CHECK(training.strategy.steps == Numbers{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  CHECK(training.strategy.examples == Numbers{4, 4, 4, 4, 2, 4, 4, 4, 4, 2, 4, 4, 4, 4, 2});
  CHECK(training.strategy.calls.front() == "place");
  CHECK(training.strategy.calls.back() == "finish");
  CHECK(std::count(training.strategy.calls.begin(), training.strategy.calls.end(), "finish") == 1);
}

TEST_CASE("max_steps ends within an epoch, which is evaluated") {
  Training training({"train.max_steps=7"});
  training.run();
  CHECK(training.strategy.steps == Numbers{0, 1, 2, 3, 4, 0, 1});
  CHECK(training.values<int64_t>("epoch", "steps") == Numbers{5, 2});
  CHECK(training.values<int64_t>("eval", "epoch") == Numbers{1, 2});
  CHECK(training.values<int64_t>("eval", "step") == Numbers{5, 7});
  CHECK(training.sink.of("run_end").at(0)["steps"] == 7);
  CHECK(training.sink.of("run_end").at(0)["epochs"] == 2);
}

TEST_CASE("a run of no steps evaluates and saves what it starts from") {
  const std::vector<std::string> split = {"train.max_steps=0", "data.split.validation=0.25",
                                          "train.schedule.kind=cosine"};
  for (const std::vector<std::string>& overrides : {{"train.max_steps=0"}, split}) {
    Training training(overrides);
    training.run();
    CHECK(training.strategy.steps.empty());
    CHECK(training.strategy.calls.front() == "place");
    CHECK(training.sink.of("epoch").empty());
    CHECK(training.values<int64_t>("eval", "epoch") == (overrides == split ? Numbers{0, 0} : Numbers{0}));
    CHECK(training.values<int64_t>("checkpoint", "step") == Numbers{0});
    const Event end = training.sink.of("run_end").at(0);
    CHECK(end["steps"] == 0);
    CHECK(end["loss"] == 0.5);
  }
  Training none({"train.max_steps=0", "checkpoint.final=false"});
  none.run();
  CHECK(none.sink.of("checkpoint").empty());
}

TEST_CASE("evaluation comes every so many epochs and after the last") {
  for (const auto& [every, epochs] : std::vector<std::pair<int, Numbers>>{
           {1, {1, 2, 3, 4, 5}}, {2, {2, 4, 5}}, {3, {3, 5}}, {5, {5}}, {1000000, {5}}}) {
    INFO("every " << every);
    Training training({"train.epochs=5", "evaluate.every_epochs=" + std::to_string(every)});
    training.run();
    CHECK(training.values<int64_t>("eval", "epoch") == epochs);
    CHECK(training.strategy.evaluated == 7 * static_cast<int64_t>(epochs.size()));
  }
}

TEST_CASE("a metric that the evaluated examples do not have is nothing to go by") {
  Training training({"callbacks.early_stopping.metric=macro_f1"});  // which the stand-in does not count
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kData);
  CHECK_THAT(message, ContainsSubstring("the evaluated examples have no macro_f1, which the job goes by"));
  Training other({"callbacks.early_stopping.metric=accuracy"});
  CHECK_NOTHROW(other.run());
}

TEST_CASE("a run without test data never evaluates") {
  Training training;
  training.run(/*evaluates=*/false);
  CHECK(training.strategy.evaluated == 0);
  CHECK(training.sink.of("eval").empty());
  CHECK(training.sink.of("epoch").size() == 3);
}

// 18 training examples: 4 for validation, 14 to train on in 4 steps.
const char* const kQuarter = "data.split.validation=0.25";

TEST_CASE("with a validation part evaluations are of that, and the test comes once, at the end") {
  Training training({kQuarter, "train.epochs=2", "metrics.every_steps=50"});
  training.run();
  CHECK(training.strategy.steps == Numbers{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(training.strategy.examples == Numbers{4, 4, 4, 2, 4, 4, 4, 2});
  CHECK(training.values<std::string>("eval", "part") ==
        std::vector<std::string>{"validation", "validation", "test"});
  CHECK(training.values<int64_t>("eval", "examples") == Numbers{4, 4, 7});
  CHECK(training.values<int64_t>("eval", "epoch") == Numbers{1, 2, 2});
  CHECK(training.values<int64_t>("eval", "step") == Numbers{4, 8, 8});
  const auto& calls = training.strategy.calls;
  CHECK(std::vector<std::string>(calls.end() - 5, calls.end()) ==
        std::vector<std::string>{"end", "evaluate", "collect", "evaluate", "finish"});
  CHECK(training.strategy.evaluated == 4 + 4 + 7);
}

TEST_CASE("without test examples a validation part is all that is evaluated") {
  Training training({kQuarter, "train.epochs=1"});
  training.job.data.test_examples = 0;
  training.run();
  CHECK(training.values<std::string>("eval", "part") == std::vector<std::string>{"validation"});
  CHECK(training.sink.of("run_end").at(0)["part"] == "validation");
}

TEST_CASE("a test that lost an example is a bug, one whose loss is not finite diverged") {
  Training lost({kQuarter, "train.epochs=1", "evaluate.every_epochs=9"});
  lost.strategy.forgotten = 1;
  CHECK(lost.failure().first == ExitCode::kBug);
  Training spoiled({kQuarter, "train.epochs=1"});
  spoiled.strategy.test_loss = std::nan("");
  const auto [code, message] = spoiled.failure();
  CHECK(code == ExitCode::kDiverged);
  CHECK_THAT(message, ContainsSubstring("the test loss is not finite by step 4"));
  CHECK(spoiled.values<std::string>("eval", "part") == std::vector<std::string>{"validation", "test"});
}

TEST_CASE("a plateau and early stopping go by the validation part, not by the test") {
  Training plateau({kQuarter, "train.schedule.kind=reduce_on_plateau", "train.schedule.patience=1"});
  plateau.strategy.test_loss = 0.1;  // would be an improvement
  plateau.run();
  const double rate = plateau.job.spec.train.optimizer.learning_rate;
  CHECK(plateau.values<double>("epoch", "learning_rate") == std::vector<double>{rate, rate, rate * 0.1});

  Training stopping({kQuarter, "train.epochs=9", "callbacks.early_stopping.metric=loss",
                     "callbacks.early_stopping.patience=2", "checkpoint.every_epochs=1"});
  stopping.strategy.test_loss = 0.1;
  stopping.run();  // every evaluation has the same loss
  CHECK(stopping.values<int64_t>("eval", "epoch") == Numbers{1, 2, 3, 3});
  CHECK(stopping.values<std::string>("eval", "part").back() == "test");
  REQUIRE(stopping.sink.of("message").size() == 2);  // why, and whose weights stay
  CHECK_THAT(stopping.sink.of("message")[0].at("text").get<std::string>(),
             ContainsSubstring("the validation loss was at its best in epoch 1 (0.5), 2 evaluations ago"));
}

TEST_CASE("windows end every so many steps and with the epoch") {
  Training training;
  training.run();
  CHECK(training.values<int64_t>("step", "step") == Numbers{2, 4, 5, 6, 8, 10, 12, 14, 15});
  const auto losses = training.values<double>("step", "loss");
  const std::vector<double> expected = {1.5, 3.5,
                                        5,  // the loss of step s is s
                                        6,   7.5, (9 * 4 + 10 * 2) / 6.0, (11 * 4 + 12 * 4) / 8.0, 13.5, 15};
  REQUIRE(losses.size() == expected.size());
  for (size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == Approx(expected[i]));
}

TEST_CASE("an epoch's loss is the mean over its examples") {
  Training training;
  training.run();
  const auto losses = training.values<double>("epoch", "loss");
  REQUIRE(losses.size() == 3);
  CHECK(losses[0] == Approx((4 * (1 + 2 + 3 + 4) + 2 * 5) / 18.0));
  CHECK(losses[1] == Approx((4 * (6 + 7 + 8 + 9) + 2 * 10) / 18.0));
  CHECK(losses[2] == Approx((4 * (11 + 12 + 13 + 14) + 2 * 15) / 18.0));
  CHECK(training.values<int64_t>("epoch", "examples") == Numbers{18, 18, 18});
  CHECK(training.values<int64_t>("epoch", "epoch") == Numbers{1, 2, 3});
}

TEST_CASE("the learning rate of each step is that of the plan, over epochs") {
  Training training({"train.learning_rate_scaling.warmup_steps=8", "train.optimizer.learning_rate=0.8"});
  training.run();
  const auto& rates = training.strategy.learning_rates;
  REQUIRE(rates.size() == 15);
  for (size_t i = 0; i < rates.size(); ++i)
    CHECK(rates[i] == Approx(0.1 * static_cast<double>(std::min<size_t>(i + 1, 8))));
  CHECK(training.values<double>("epoch", "learning_rate") ==
        std::vector<double>{rates[4], rates[9], rates[14]});
}

TEST_CASE("evaluations that get no better reduce the learning rate from the next epoch on") {
  Training training({"train.schedule.kind=reduce_on_plateau", "train.schedule.patience=1"});
  training.run();  // every evaluation has the same loss
  const double rate = training.job.spec.train.optimizer.learning_rate;
  const auto& rates = training.strategy.learning_rates;
  REQUIRE(rates.size() == 15);
  CHECK(rates[4] == rate);
  CHECK(rates[9] == rate);  // the first evaluation is an improvement
  CHECK(rates[10] == Approx(rate * 0.1).epsilon(1e-14));
  CHECK(rates[14] == Approx(rate * 0.1).epsilon(1e-14));
  CHECK(training.values<double>("epoch", "learning_rate") == std::vector<double>{rate, rate, rates[14]});
}

TEST_CASE("the order of calls and events is that of the textbook") {
  Training training({"train.epochs=2", "train.max_steps=6", "metrics.every_steps=50"});
  training.run();
  CHECK(training.strategy.calls == std::vector<std::string>{"place", "train", "train", "train", "train",
                                                            "train", "evaluate", "train", "end", "evaluate",
                                                            "collect", "finish"});
  std::vector<std::string> kinds;
  for (const Event& event : training.sink.events) {
    if (event["event"] != "progress") kinds.push_back(event["event"]);
  }
  // The warning is about the loss, which this training has rise from step to step.
  CHECK(kinds == std::vector<std::string>{"run_start", "step", "epoch", "eval", "step", "epoch", "eval",
                                          "checkpoint", "warning", "run_end"});
}

TEST_CASE("sums are exchanged as often on every replica, whatever it has seen") {
  // Also when the last window of an epoch is empty (here: 4 steps, every 2).
  Training training({"data.train_examples=16", "train.epochs=1", "checkpoint.final=false"});
  training.run();
  CHECK(training.strategy.sums == 2 + 1 + 1);  // windows, the epoch's end, the evaluation
  CHECK(training.values<int64_t>("step", "step") == Numbers{2, 4});
}

TEST_CASE("a loss that is not finite ends the run as diverged, after it was reported") {
  for (const double loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    INFO(loss);
    Training training({"train.optimizer.learning_rate=0.25"});
    training.strategy.spoiled_step = 3;
    training.strategy.spoiled_loss = loss;
    const auto [code, message] = training.failure();
    CHECK(code == ExitCode::kDiverged);
    CHECK_THAT(message, ContainsSubstring("the loss is not finite by step 4") &&
                            ContainsSubstring("train.optimizer.learning_rate (now 0.25)"));
    CHECK(training.strategy.steps.size() == 4);  // the window's end
    CHECK_FALSE(std::isfinite(training.sink.of("step").back()["loss"].get<double>()));
  }
}

TEST_CASE("weights that the very last update spoiled show in the evaluation") {
  Training training({"train.epochs=1"});
  training.strategy.evaluation_loss = std::nan("");
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kDiverged);
  CHECK_THAT(message, ContainsSubstring("the test loss is not finite by step 5"));
  CHECK(training.sink.of("eval").size() == 1);
}

TEST_CASE("an evaluation that lost an example is a bug") {
  Training training;
  training.strategy.forgotten = 1;
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kBug);
  CHECK(message == "evaluated 6 examples of 7");
}

TEST_CASE("what the strategy throws comes through") {
  Training training;
  training.strategy.failing_step = 7;
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kPeerLost);
  CHECK(message == "a replica is gone");
  CHECK(training.board->get(0).step == 7);  // where it was, for the supervisor
  CHECK(training.board->get(0).activity == Activity::kComputing);
}

TEST_CASE("the status board ends at finished") {
  Training training;
  training.run();
  CHECK(training.board->get(0).activity == Activity::kFinished);
  CHECK(training.board->get(0).step >= 15);
}

TEST_CASE("a real strategy learns the synthetic classes through the trainer") {
  Training training({"train.epochs=30", "data.train_examples=60", "data.test_examples=30",
                     "train.optimizer.learning_rate=0.01"});
  const RunPlan& plan = training.job.distributed_run();
  const auto clock = std::make_shared<StepClock>();
  const auto strategy = make_strategy(
      "one_device", strategy_parts(training.job, training.job.spec.train, make_single_group(), clock));
  const MakeShares make_shares = [&](const PhasePlan&) {
    const Dataset& data = training.dataset;
    return ReplicaShares{std::make_unique<ShareLoader>(data.train, train_options(training.job, plan, 0)),
                         std::make_unique<ShareLoader>(data.test, evaluation_options(training.job, plan, 0))};
  };
  CallbackList callbacks({training.job, plan, training.folder / "", training.sink}, /*leads=*/true);
  RunReporter reporter(training.job, plan, callbacks);
  ActivityLog activity(*training.board, 0);
  RunCheckpoints checkpoints(training.job, plan, training.folder / "checkpoints", /*leads=*/true,
                             training.sink, nullptr);
  Trainer(training.job, plan, {*strategy, *clock}, make_shares, {reporter, checkpoints, callbacks, activity},
          /*leads=*/true)
      .run();
  CHECK(training.values<double>("eval", "accuracy").back() > 0.9);
  CHECK(training.values<double>("eval", "loss").back() < training.values<double>("eval", "loss").front());
}

}  // namespace
}  // namespace dtrain
