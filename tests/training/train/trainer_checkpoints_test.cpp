// What the trainer saves, when, and how it goes on from that.
#include <algorithm>
#include <fstream>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "fake_training.h"
#include "job_file/print.h"

namespace dtrain {
namespace {

using NamedSums = std::map<std::string, double>;

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
                         {{"checkpoint.every_steps=4", "train.max_steps=7"}, {4, 7}}}) {
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

TEST_CASE("without any field about checkpoints a run saves its final model, and nothing else") {
  Training training;
  training.run();
  CHECK(steps_of(saved_in(training.folder / "checkpoints")) == Numbers{15});
}

TEST_CASE("the end is not saved where the spec does not want it") {
  Training none({"checkpoint.final=false"});
  none.run();
  CHECK_FALSE(std::filesystem::exists(none.folder / "checkpoints"));
  Training some({"checkpoint.final=false", "checkpoint.every_steps=4"});
  some.run();
  CHECK(steps_of(saved_in(some.folder / "checkpoints")) == Numbers{4, 8, 12});
}

TEST_CASE("a run that is measured against saves nothing") {
  Training baseline({"checkpoint.every_epochs=1"});
  baseline.job.runs.back().kind = RunKind::kBaseline;
  baseline.run();
  CHECK_FALSE(std::filesystem::exists(baseline.folder / "checkpoints"));
}

TEST_CASE("the best one is saved whenever an evaluation is better than all before") {
  Training training({"checkpoint.best.metric=loss", "checkpoint.final=false", "train.epochs=6"});
  training.strategy.evaluation_losses = {0.5, 0.6, 0.4, 0.4, std::nextafter(0.4, 0.0), 0.7};
  training.run();
  CHECK(training.values<int64_t>("checkpoint", "step") == Numbers{5, 15, 25});
  Training kept({"checkpoint.best.metric=loss", "checkpoint.keep=1"});
  kept.strategy.evaluation_losses = {0.5, 0.3, 0.4};
  kept.run();
  CHECK(steps_of(saved_in(kept.folder / "checkpoints")) == Numbers{10, 15});  // the best and the final one
}

TEST_CASE("of the checkpoints of an interval the best stays, too, without checkpoint.best") {
  Training training({"checkpoint.every_steps=1", "checkpoint.keep=2"});
  training.strategy.evaluation_losses = {0.5, 0.3, 0.4};
  training.run();
  CHECK(steps_of(saved_in(training.folder / "checkpoints")) == Numbers{10, 14, 15});
}

TEST_CASE("early stopping hands back the weights of the best evaluation, unless told not to") {
  const bool restores = GENERATE(true, false);
  Training training({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=2",
                     "train.epochs=9", fmt::format("callbacks.early_stopping.restore_best={}", restores)});
  training.strategy.evaluation_losses = {0.5, 0.3, 0.4, 0.6, 0.2};
  training.run();
  CHECK(training.strategy.steps.size() == 20);  // four epochs
  const auto saved = saved_in(training.folder / "checkpoints");
  const Event end = training.sink.of("run_end").at(0);
  CHECK(end.at("epochs") == 4);
  if (restores) {
    CHECK(steps_of(saved) == Numbers{5, 10});
    CHECK(training.strategy.restored.model.at(0).second[0].item<double>() == 10);
    CHECK(end.at("loss") == 0.3);
    CHECK_THAT(training.sink.of("message").back().at("text").get<std::string>(),
               ContainsSubstring("the weights are those after epoch 2, the best by loss: 0.3"));
  } else {
    CHECK(steps_of(saved) == Numbers{20});
    CHECK(training.strategy.restored.model.empty());
    CHECK(end.at("loss") == 0.6);
  }
}

TEST_CASE("a run that is lost in its final test still has the checkpoint that says how far it came") {
  Training training({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=2",
                     "train.epochs=9", "data.split.validation=0.25"});
  training.strategy.evaluation_losses = {0.5, 0.3, 0.4, 0.6};
  training.strategy.test_loss = std::nan("");
  CHECK(training.failure().first == ExitCode::kDiverged);
  CHECK(training.strategy.restored.model.at(0).second[0].item<double>() == 8);
  CHECK(steps_of(saved_in(training.folder / "checkpoints")).back() == 16);
}

// The second phase's features were of other weights than the best ones, and to make new ones hosts meet.
TEST_CASE("hosts of which only some keep features make their shares equally often") {
  const bool keeps = GENERATE(true, false);
  Training training({"phases=[{epochs: 2}, {epochs: 1, trainable: head}]",
                     "callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=5",
                     "callbacks.early_stopping.restore_best=true"});
  FeaturePlan& features = training.job.runs.back().phases.back().features;
  REQUIRE(features.layers > 0);
  if (!keeps) {
    features = {};
    features.reason = "they take more than a quarter of the memory here";
  }
  training.strategy.evaluation_losses = {0.3, 0.5, 0.4};
  training.run();
  CHECK(training.strategy.restored.model.at(0).second[0].item<double>() == 5);
  CHECK(training.shares_made == 3);
}

// Two phases instead of one: 7 steps at 0.5 after a warmup of 2, and the rest at 0.25, halved after 3 of its
// steps.
void divide_into_phases(RunPlan& run) {
  TrainSpec train;
  train.optimizer.learning_rate = 0.5;
  train.learning_rate_scaling.warmup_steps = 2;
  PhasePlan first, second;
  first.steps = 7;
  first.learning_rate = resolve_learning_rate(train, 4, {5, 7});
  train.optimizer.learning_rate = 0.25;
  train.learning_rate_scaling.warmup_steps = 0;
  train.schedule = {.kind = "step", .own = StepFields{.unit = "steps", .every = 3, .factor = 0.5}};
  second.index = 1;
  second.first_step = 7;
  second.steps = run.total_steps - 7;
  second.learning_rate = resolve_learning_rate(train, 4, {5, second.steps});
  run.phases = {first, second};
}

TEST_CASE("each phase of a run has its own learning rate, and a run resumes in any of them") {
  const std::vector<double> rates = {0.25, 0.5,  0.5,   0.5,   0.5,   0.5,    0.5,   0.25,
                                     0.25, 0.25, 0.125, 0.125, 0.125, 0.0625, 0.0625};
  Training whole({"checkpoint.every_steps=1", "checkpoint.keep=100"});
  divide_into_phases(whole.job.runs.back());
  whole.run();
  CHECK(whole.strategy.learning_rates == rates);
  for (const SavedCheckpoint& saved : list_checkpoints(whole.folder / "checkpoints")) {
    const Checkpoint checkpoint = load_checkpoint(saved.path);
    const auto step = static_cast<size_t>(checkpoint.state.step);
    INFO("from step " << step);
    CHECK(checkpoint.state.learning_rate == rates[step - 1]);
    Training rest({"checkpoint.every_steps=1", "checkpoint.keep=100"});
    divide_into_phases(rest.job.runs.back());
    rest.strategy.steps_before = checkpoint.state.step;
    const Resumption from{checkpoint.state, {checkpoint.model, checkpoint.optimizer}};
    rest.run(/*evaluates=*/true, &from);
    CHECK(rest.strategy.learning_rates ==
          std::vector<double>(rates.begin() + static_cast<int64_t>(step), rates.end()));
  }
}

// The steps of the phase before may have been a thousand times as quick, and decisions rare.
TEST_CASE("the first step of a phase is followed by a decision") {
  Training training;
  divide_into_phases(training.job.runs.back());
  training.run();
  CHECK(std::ranges::count(training.strategy.decisions, 8) == 1);
}

TEST_CASE("a phase that cannot begin, as another worker has left, ends the run with a checkpoint") {
  const bool in_epoch = GENERATE(true, false);
  Training training;
  divide_into_phases(training.job.runs.back());
  std::vector<PhasePlan>& phases = training.job.runs.back().phases;
  PhasePlan& second = phases.back();
  if (!in_epoch) phases.front().steps = second.first_step = 10;
  training.strategy.stops_at_phase = true;
  try {
    training.run();
    FAIL("went on");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kStopped);
  }
  const auto states = saved_in(training.folder / "checkpoints");
  REQUIRE(states.size() == 1);
  CHECK(states[0].step == second.first_step);
  CHECK(states[0].epoch == second.first_step / 5);
  CHECK(states[0].position == second.first_step % 5 * 4);
  CHECK(states[0].learning_rate == 0.5);  // of the phase that it has not left
}

TEST_CASE("a checkpoint says where training stood") {
  Training training({"checkpoint.every_steps=4", "checkpoint.keep=100", "metrics.every_steps=3"});
  training.run();
  const auto states = saved_in(training.folder / "checkpoints");
  REQUIRE(states.size() == 4);
  CHECK(states[0].epoch == 0);
  CHECK(states[0].position == 16);
  CHECK(states[0].pass_sums == NamedSums{{"loss", 4 * (1 + 2 + 3)},
                                         {"correct", 12},
                                         {"examples", 12}});  // steps 1 to 3 were reported
  CHECK(states[0].window_sums == NamedSums{{"loss", 4 * 4}, {"correct", 4}, {"examples", 4}});
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

TEST_CASE("a checkpoint has the validation part's metrics, and a complete training that goes on is tested") {
  const std::vector<std::string> spec = {"checkpoint.every_epochs=1", "data.split.validation=0.25"};
  Training whole(spec);
  whole.strategy.test_loss = 0.25;
  whole.run();
  const auto states = saved_in(whole.folder / "checkpoints");
  REQUIRE(states.size() == 3);
  for (const TrainingState& state : states) {
    CHECK(state.metrics.at("loss") == 0.5);
    CHECK(state.train_examples == 14);
    CHECK(state.validation_examples == 4);
  }
  Training rest(spec);
  const Checkpoint last = load_checkpoint(list_checkpoints(whole.folder / "checkpoints").back().path);
  rest.strategy.steps_before = last.state.step;
  const Resumption from{last.state, {last.model, last.optimizer}};
  rest.run(/*evaluates=*/true, &from);
  CHECK(rest.strategy.steps.empty());
  CHECK(rest.values<std::string>("eval", "part") == std::vector<std::string>{"test"});
  CHECK(rest.values<int64_t>("eval", "epoch") == Numbers{3});
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

TEST_CASE("the epoch in which a training goes on has the seconds of all its steps") {
  Training whole({"checkpoint.every_steps=5", "checkpoint.keep=100"});
  whole.run();
  CHECK(saved_in(whole.folder / "checkpoints").front().pass_seconds == 0);  // its pass is complete
  Training cut({"checkpoint.every_steps=4"});
  cut.run();
  Checkpoint checkpoint = load_checkpoint(list_checkpoints(cut.folder / "checkpoints").front().path);
  REQUIRE(checkpoint.state.position > 0);
  CHECK(checkpoint.state.pass_seconds > 0);
  checkpoint.state.pass_seconds = 1000;  // of the process before
  Training rest;
  rest.strategy.steps_before = checkpoint.state.step;
  const Resumption from{checkpoint.state, {checkpoint.model, checkpoint.optimizer}};
  rest.run(/*evaluates=*/true, &from);
  const auto seconds = rest.values<double>("epoch", "seconds");
  CHECK(seconds.at(0) > 1000);
  for (size_t i = 0; i < seconds.size(); ++i) CHECK(seconds[i] < (i == 0 ? 1100 : 100));
}

TEST_CASE("a training that goes on with steps of another arithmetic says so once") {
  Training whole({"checkpoint.every_steps=4"});
  whole.run();
  Checkpoint checkpoint = load_checkpoint(list_checkpoints(whole.folder / "checkpoints").at(0).path);
  CHECK_THAT(checkpoint.state.arithmetic, ContainsSubstring("compiled, "));
  const auto messages_after = [&](const std::string& arithmetic) {
    checkpoint.state.arithmetic = arithmetic;
    Training rest;
    rest.strategy.steps_before = checkpoint.state.step;
    const Resumption from{checkpoint.state, {checkpoint.model, checkpoint.optimizer}};
    rest.run(/*evaluates=*/true, &from);
    std::vector<std::string> texts;
    for (const Event& event : rest.sink.of("message")) texts.push_back(event.at("text"));
    return texts;
  };
  CHECK(messages_after(checkpoint.state.arithmetic).empty());
  CHECK(messages_after("").empty());  // it is not known
  const std::vector<std::string> texts = messages_after("eager, mm");
  REQUIRE(texts.size() == 1);
  CHECK_THAT(texts[0], ContainsSubstring("the checkpoint's steps were eager, mm, and these are compiled, "));
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
    from.state.schedule =
        LearningRateSchedule(training.job.distributed_run().phases.front().learning_rate).state();
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

TEST_CASE("the state before a step that is lost is saved, and what trains on from there is the same") {
  using Case = std::tuple<std::vector<std::string>, int64_t, Numbers>;
  const auto& [overrides, lost, saved] = GENERATE(values<Case>({{{"checkpoint.final=true"}, 8, {7}},
                                                                {{"checkpoint.every_steps=4"}, 8, {4, 7}},
                                                                {{"checkpoint.every_steps=4"}, 9, {4, 8}},
                                                                {{"checkpoint.final=false"}, 8, {}},
                                                                {{"checkpoint.final=true"}, 1, {}}}));
  INFO(overrides.front() << ", lost: " << lost);
  Training training(overrides);
  training.strategy.failing_step = lost;
  training.strategy.loses_step = true;
  CHECK(training.failure().first == ExitCode::kPeerLost);
  const auto states = saved_in(training.folder / "checkpoints");
  CHECK(steps_of(states) == saved);
  CHECK(training.values<int64_t>("checkpoint", "step") == saved);
  if (saved.empty() || saved.back() != 7) return;
  CHECK(states.back().epoch == 1);
  CHECK(states.back().position == 8);
  Training whole, rest;
  whole.run();
  rest.strategy.steps_before = 7;
  const Resumption from{states.back(), {}};
  rest.run(/*evaluates=*/true, &from);
  const std::vector<double> losses = whole.values<double>("epoch", "loss");
  CHECK(rest.values<double>("epoch", "loss") == std::vector<double>(losses.begin() + 1, losses.end()));
}

TEST_CASE("nothing is saved of a step that is lost where the variables are not those of a step before") {
  Training phases({"checkpoint.final=true"});
  divide_into_phases(phases.job.runs.back());
  phases.strategy.failing_step = phases.job.runs.back().phases.back().first_step + 1;
  phases.strategy.loses_step = true;
  phases.failure();
  CHECK(saved_in(phases.folder / "checkpoints").empty());
  Training suspect({"checkpoint.final=true"});
  suspect.strategy.failing_step = 4;
  suspect.strategy.loses_step = true;
  suspect.strategy.suspect_step = 3;
  suspect.failure();
  CHECK(saved_in(suspect.folder / "checkpoints").empty());
}

TEST_CASE("a checkpoint that training went on from stays as it is when the next step is lost") {
  Training first({"checkpoint.every_epochs=1", "train.max_steps=5"});
  first.run();
  const Checkpoint saved = load_checkpoint(list_checkpoints(first.folder / "checkpoints").back().path);
  CHECK_FALSE(saved.state.metrics.empty());
  Training second({"checkpoint.every_epochs=1"});
  save_checkpoint(second.folder / "checkpoints", saved);
  second.strategy.steps_before = 5;
  second.strategy.failing_step = 6;
  second.strategy.loses_step = true;
  const Resumption from{saved.state, {saved.model, saved.optimizer}};
  CHECK_THROWS_AS(second.run(/*evaluates=*/true, &from), StepLost);
  CHECK(saved_in(second.folder / "checkpoints").back().metrics == saved.state.metrics);
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
                         {{"checks.every_steps=100", "checkpoint.every_epochs=1"}, {5, 10, 15}}}) {
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
  CHECK(ending.values<std::string>("warning", "text").front() == "after step 6: it looks odd");

  Training going_on({"checkpoint.every_steps=2", "checkpoint.keep=1"});
  going_on.strategy.suspect_step = 6;
  going_on.run();
  CHECK(steps_of(saved_in(going_on.folder / "checkpoints")) == Numbers{10, 15});  // and the best
}

TEST_CASE("checkpoints that cannot be written end the run") {
  Training training({"checkpoint.every_steps=1"});
  std::ofstream(training.folder / "checkpoints") << "a file in its place";
  const auto [code, message] = training.failure();
  CHECK(code == ExitCode::kUsage);
  CHECK_THAT(message, ContainsSubstring("checkpoints"));
}

}  // namespace
}  // namespace dtrain
