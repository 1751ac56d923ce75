#include "train/trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "catch.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "core/error.h"
#include "files.h"
#include "small_jobs.h"
#include "train/assembly.h"

namespace dtrain {
namespace {

// Says what it was asked for and returns made-up sums: training step s (from 1, over the run) has a loss of s
// for each example, an evaluation one of 0.5.
class FakeStrategy : public Strategy {
 public:
  std::vector<std::string> calls;
  std::vector<int64_t> steps;     // Share::step of each training step
  std::vector<int64_t> examples;  // of each
  std::vector<double> learning_rates;
  int64_t evaluated = 0;
  int64_t sums = 0;

  CollectedVariables restored;
  int64_t steps_before = 0;         // of a run that this one goes on from
  std::optional<int64_t> own_step;  // where this replica stands, if not where the others do

  int64_t spoiled_step = 0;  // the step whose loss is `spoiled_loss`; 0: none
  double spoiled_loss = std::nan("");
  double evaluation_loss = 0.5;
  int64_t forgotten = 0;     // examples that the sums of an evaluation lack
  int64_t failing_step = 0;  // throws instead

  std::vector<int64_t> checks;  // after which step the variables were checked
  int64_t corrupt_step = 0;     // from which on they are corrupt; 0: never
  int64_t suspect_step = 0;     // which makes them suspect; 0: none

  int64_t place_variables() override {
    calls.push_back("place");
    return own_step.value_or(0);
  }
  MetricSums train_step(const Share& share, double learning_rate) override {
    calls.push_back("train");
    const int64_t step = steps_before + static_cast<int64_t>(steps.size()) + 1;
    if (step == failing_step) throw Error(ExitCode::kPeerLost, "a replica is gone");
    steps.push_back(share.step);
    learning_rates.push_back(learning_rate);
    examples.push_back(examples_of(share));
    CHECK(share.global_examples == examples.back());  // one replica takes it all
    return make_sums(examples.back(), step == spoiled_step ? spoiled_loss : static_cast<double>(step));
  }
  MetricSums evaluate(const Share& share) override {
    if (calls.back() != "evaluate") calls.push_back("evaluate");
    evaluated += examples_of(share);
    const int64_t counted = examples_of(share) - forgotten;
    forgotten = 0;
    return make_sums(counted, evaluation_loss);
  }
  MetricSums sum_over_replicas(MetricSums own) override {
    ++sums;
    return own;
  }
  std::string check_variables() override {
    const auto step = static_cast<int64_t>(steps.size());
    checks.push_back(step);
    if (corrupt_step != 0 && step >= corrupt_step) throw Error(ExitCode::kDisagree, "memory is corrupt");
    return step == suspect_step ? "it looks odd" : "";
  }
  CollectedVariables collect_variables() override {
    calls.push_back("collect");
    const auto step = static_cast<int64_t>(steps.size());
    return {{{"weight", at::full({2}, static_cast<double>(step))}}, {}, step == suspect_step ? "odd" : ""};
  }
  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    calls.push_back("restore");
    restored = variables;
    return own_step.value_or(step);
  }
  std::optional<WorkersReport> end_training() override {
    calls.push_back("end");
    return std::nullopt;
  }
  void finish() override { calls.push_back("finish"); }

 private:
  static int64_t examples_of(const Share& share) {
    int64_t count = 0;
    for (const MicroBatch& batch : share.micro_batches) count += batch.size();
    return count;
  }
  static MetricSums make_sums(int64_t count, double loss) {
    MetricSums sums;
    if (count > 0) {
      sums.add_batch(at::zeros({count, 3}), at::zeros({count}, at::kLong),
                     at::scalar_tensor(loss * static_cast<double>(count), at::kDouble));
    }
    return sums;
  }
};

// A trainer with everything around it.
struct Training {
  JobPlan job;
  Dataset dataset;
  FakeStrategy strategy;
  RecordingSink sink;
  TemporaryFolder folder;
  std::unique_ptr<StatusBoard> board = StatusBoard::create(1);

  explicit Training(const std::vector<std::string>& overrides = {})
      : job(small_job(overrides)), dataset(load_dataset(job.spec.data, 42)) {}

  void run(bool evaluates = true, const Resumption* from = nullptr) {
    const RunPlan& plan = job.runs.back();
    ShareLoader train(dataset.train, train_options(job, plan, 0));
    ShareLoader test(dataset.test, test_options(job, plan, 0));
    CallbackList callbacks({job, plan, folder / "", sink}, /*leads=*/true);
    RunReporter reporter(job, plan, callbacks);
    ActivityLog activity(*board, 0);
    PhaseClock clock;
    RunCheckpoints checkpoints(job, plan, folder / "checkpoints", /*leads=*/true, callbacks);
    Trainer(job, plan, strategy, train, evaluates ? &test : nullptr, clock, reporter, checkpoints, callbacks,
            activity,
            /*leads=*/true)
        .run(from);
  }

  // How the run failed; the strategy is not asked for anything afterwards and no end is reported.
  std::pair<ExitCode, std::string> failure() {
    try {
      run();
    } catch (const Error& error) {
      if (!strategy.calls.empty()) CHECK(strategy.calls.back() != "finish");
      CHECK(sink.of("run_end").empty());
      return {error.code(), error.what()};
    }
    FAIL("the run did not fail");
    return {};
  }

  // The values of one key in all events of a kind.
  template <class T>
  std::vector<T> values(const std::string& kind, const std::string& key) const {
    std::vector<T> found;
    for (const Event& event : sink.of(kind)) found.push_back(event.at(key).get<T>());
    return found;
  }
};

using Numbers = std::vector<int64_t>;

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

TEST_CASE("a run without test data never evaluates") {
  Training training;
  training.run(/*evaluates=*/false);
  CHECK(training.strategy.evaluated == 0);
  CHECK(training.sink.of("eval").empty());
  CHECK(training.sink.of("epoch").size() == 3);
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
                                                            "finish"});
  std::vector<std::string> kinds;
  for (const Event& event : training.sink.events) {
    if (event["event"] != "progress") kinds.push_back(event["event"]);
  }
  CHECK(kinds ==
        std::vector<std::string>{"run_start", "step", "epoch", "eval", "step", "epoch", "eval", "run_end"});
}

TEST_CASE("sums are exchanged as often on every replica, whatever it has seen") {
  // Also when the last window of an epoch is empty (here: 4 steps, every 2).
  Training training({"data.train_examples=16", "train.epochs=1"});
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
  CHECK_THAT(message, ContainsSubstring("the evaluation loss is not finite by step 5"));
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

// The states of the checkpoints in the folder, by step.
std::vector<TrainingState> saved_in(const std::filesystem::path& folder) {
  std::vector<TrainingState> states;
  for (const SavedCheckpoint& saved : list_checkpoints(folder))
    states.push_back(load_checkpoint(saved.path).state);
  return states;
}

Numbers steps_of(const std::vector<TrainingState>& states) {
  Numbers steps;
  for (const TrainingState& state : states) steps.push_back(state.step);
  return steps;
}

TEST_CASE("checkpoints come every so many steps, or epochs, and at the end") {
  using Case = std::pair<std::vector<std::string>, Numbers>;
  for (const auto& [overrides, steps] :
       std::vector<Case>{{{"checkpoint.every_epochs=1"}, {5, 10, 15}},
                         {{"checkpoint.every_epochs=2"}, {10, 15}},
                         {{"checkpoint.every_steps=4"}, {4, 8, 12, 15}},
                         {{"checkpoint.every_steps=5"}, {5, 10, 15}},
                         {{"checkpoint.every_steps=100"}, {15}},
                         {{"checkpoint.every_minutes=1"}, {15}},
                         {{"checkpoint.every_steps=4", "train.max_steps=7"}, {4, 7}},
                         {{"checkpoint.every_steps=1", "checkpoint.keep=2"}, {14, 15}}}) {
    INFO(overrides.front());
    Training training(overrides);
    if (overrides.size() == 1) training.job.spec.checkpoint.keep = 100;
    training.run();
    CHECK(steps_of(saved_in(training.folder / "checkpoints")) == steps);
    CHECK(training.strategy.steps.size() == static_cast<size_t>(steps.back()));
    Numbers reported = training.values<int64_t>("checkpoint", "step");
    reported.erase(reported.begin(), reported.end() - std::ssize(steps));
    CHECK(reported == steps);
  }
}

TEST_CASE("a run without checkpoints leaves no folder, nor does one that is measured against") {
  Training plain;
  plain.run();
  CHECK_FALSE(std::filesystem::exists(plain.folder / "checkpoints"));
  Training baseline({"checkpoint.every_epochs=1"});
  baseline.job.runs.back().run = "baseline";
  baseline.run();
  CHECK_FALSE(std::filesystem::exists(baseline.folder / "checkpoints"));
}

TEST_CASE("a checkpoint says where training stood") {
  Training training({"checkpoint.every_steps=4", "checkpoint.keep=100", "metrics.every_steps=3"});
  training.run();
  const auto states = saved_in(training.folder / "checkpoints");
  REQUIRE(states.size() == 4);
  CHECK(states[0].epoch == 0);
  CHECK(states[0].position == 16);
  CHECK(states[0].pass_sums == std::vector<double>{4 * (1 + 2 + 3), 12, 12});  // steps 1 to 3 were reported
  CHECK(states[0].window_sums == std::vector<double>{4 * 4, 4, 4});
  CHECK(states[0].metrics.empty());
  CHECK(states[1].epoch == 1);
  CHECK(states[1].position == 12);
  CHECK(states[3].epoch == 3);
  CHECK(states[3].position == 0);
  CHECK(states[3].metrics.at("loss") == 0.5);
  for (const TrainingState& state : states) {
    CHECK(state.global_batch == 4);
    CHECK(state.train_examples == 18);
    CHECK(state.spec == print_spec(training.job.spec));
  }
}

TEST_CASE("a training that goes on trains the rest, each example once, and reports the same") {
  for (const size_t saved : {0, 1, 2, 3}) {
    Training whole({"checkpoint.every_steps=4", "checkpoint.keep=100", "metrics.every_steps=3"});
    whole.run();
    const auto found = list_checkpoints(whole.folder / "checkpoints");
    const Checkpoint checkpoint = load_checkpoint(found.at(saved).path);
    INFO("from step " << checkpoint.state.step);

    Training rest({"checkpoint.every_steps=4", "checkpoint.keep=100", "metrics.every_steps=3"});
    rest.strategy.steps_before = checkpoint.state.step;
    const Resumption from{checkpoint.state, {checkpoint.model, checkpoint.optimizer}};
    rest.run(/*evaluates=*/true, &from);
    CHECK(rest.strategy.calls.front() == "restore");
    CHECK(at::equal(rest.strategy.restored.model.at(0).second, checkpoint.model.at(0).second));
    const auto done = checkpoint.state.step;
    CHECK(rest.strategy.steps == Numbers(whole.strategy.steps.begin() + done, whole.strategy.steps.end()));
    CHECK(rest.strategy.examples ==
          Numbers(whole.strategy.examples.begin() + done, whole.strategy.examples.end()));
    CHECK(rest.strategy.learning_rates == std::vector<double>(whole.strategy.learning_rates.begin() + done,
                                                              whole.strategy.learning_rates.end()));
    for (const char* kind : {"step", "epoch"}) {
      for (const char* key : {"loss", "accuracy"}) {
        const auto all = whole.values<double>(kind, key), again = rest.values<double>(kind, key);
        REQUIRE(again.size() <= all.size());
        CHECK(again == std::vector<double>(all.end() - std::ssize(again), all.end()));
      }
    }
    if (saved < 3) {
      CHECK(rest.sink.of("run_start").at(0)["resumed_step"] == done);
      CHECK(rest.values<int64_t>("epoch", "examples").back() == 18);
      CHECK(rest.values<int64_t>("epoch", "steps").front() == 5);
    }
  }
}

TEST_CASE("a replica that stands elsewhere than the checkpoint goes on from its own step") {
  using Case = std::pair<int64_t, Numbers>;
  Resumption from;
  from.state.epoch = 1;
  from.state.step = 7;
  from.state.position = 8;
  for (const auto& [own, steps] : std::vector<Case>{{7, {2, 3, 4, 0, 1, 2, 3, 4}},
                                                    {0, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}},
                                                    {3, {3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}},
                                                    {5, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4}},
                                                    {13, {3, 4}},
                                                    {15, {}}}) {
    INFO("own step " << own);
    Training training;
    training.strategy.own_step = training.strategy.steps_before = own;
    from.state.schedule = LearningRateSchedule(training.job.runs.back().learning_rate).state();
    training.run(/*evaluates=*/false, &from);
    CHECK(training.strategy.steps == steps);
    CHECK(std::count(training.strategy.calls.begin(), training.strategy.calls.end(), "end") == 1);
    CHECK(training.sink.of("run_end").at(0)["steps"] == 15);

    Training returning;  // without a checkpoint
    returning.strategy.own_step = returning.strategy.steps_before = own;
    returning.run(/*evaluates=*/false);
    CHECK(returning.strategy.steps == steps);
  }
}

TEST_CASE("weights that are spoiled replace no good checkpoint") {
  Training training({"checkpoint.every_steps=2", "metrics.every_steps=50"});
  training.strategy.spoiled_step = 3;
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kDiverged);
  CHECK(steps_of(saved_in(training.folder / "checkpoints")) == Numbers{2});
}

TEST_CASE("variables are checked every so many steps, before every checkpoint, and at the end") {
  using Case = std::pair<std::vector<std::string>, Numbers>;
  for (const auto& [overrides, checks] :
       std::vector<Case>{{{"checks.every_steps=4"}, {4, 8, 12, 15}},
                         {{"checks.every_steps=100"}, {15}},
                         {{"checks.every_steps=none"}, {}},
                         {{"checks.every_steps=none", "checkpoint.every_steps=4"}, {}},
                         {{"checks.every_steps=100", "checkpoint.every_epochs=1"}, {5, 10, 15, 15}}}) {
    INFO(overrides.front());
    Training training(overrides);
    training.run();
    CHECK(training.strategy.checks == checks);
  }
}

TEST_CASE("nothing is saved of corrupt variables") {
  Training training({"checks.every_steps=100", "checkpoint.every_steps=2"});
  training.strategy.corrupt_step = 5;
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kDisagree);
  CHECK(message == "memory is corrupt");
  CHECK(training.strategy.steps.size() == 6);
  CHECK(steps_of(saved_in(training.folder / "checkpoints")) == Numbers{2, 4});
}

TEST_CASE(
    "suspect variables are saved beside the good ones, with a warning, until there are good ones again") {
  Training ending({"checkpoint.every_steps=2", "checkpoint.keep=1", "train.max_steps=6"});
  ending.strategy.suspect_step = 6;
  ending.run();
  const auto saved = list_checkpoints(ending.folder / "checkpoints");
  REQUIRE(saved.size() == 2);
  CHECK(saved[0].step == 4);
  CHECK(saved[1].path == ending.folder / "checkpoints/step-000000006.suspect");
  CHECK(load_checkpoint(saved[1].path).state.suspicion == "odd");
  CHECK(ending.sink.of("checkpoint").back()["suspicion"] == "odd");
  CHECK(ending.sink.of("checkpoint").back()["path"] == saved[1].path.string());
  CHECK(ending.values<std::string>("warning", "text") ==
        std::vector<std::string>{"after step 6: it looks odd"});

  Training going_on({"checkpoint.every_steps=2", "checkpoint.keep=1"});
  going_on.strategy.suspect_step = 6;
  going_on.run();
  CHECK(steps_of(saved_in(going_on.folder / "checkpoints")) == Numbers{15});
}

TEST_CASE("checkpoints that cannot be written end the run") {
  Training training({"checkpoint.every_steps=1"});
  std::ofstream(training.folder / "checkpoints") << "a file in its place";
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kUsage);
  CHECK_THAT(message, ContainsSubstring("checkpoints"));
}

TEST_CASE("a real strategy learns the synthetic classes through the trainer") {
  Training training({"train.epochs=30", "data.train_examples=60", "data.test_examples=30",
                     "train.optimizer.learning_rate=0.01"});
  const RunPlan& plan = training.job.runs.back();
  const auto clock = std::make_shared<PhaseClock>();
  const auto strategy = make_strategy("one_device", strategy_parts(training.job, make_single_group(), clock));
  ShareLoader train(training.dataset.train, train_options(training.job, plan, 0));
  ShareLoader test(training.dataset.test, test_options(training.job, plan, 0));
  CallbackList callbacks({training.job, plan, training.folder / "", training.sink}, /*leads=*/true);
  RunReporter reporter(training.job, plan, callbacks);
  ActivityLog activity(*training.board, 0);
  RunCheckpoints checkpoints(training.job, plan, training.folder / "checkpoints", /*leads=*/true,
                             training.sink);
  Trainer(training.job, plan, *strategy, train, &test, *clock, reporter, checkpoints, callbacks, activity,
          /*leads=*/true)
      .run();
  CHECK(training.values<double>("eval", "accuracy").back() > 0.9);
  CHECK(training.values<double>("eval", "loss").back() < training.values<double>("eval", "loss").front());
}

}  // namespace
}  // namespace dtrain
