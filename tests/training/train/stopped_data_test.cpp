// Trainings that are stopped while examples do not come from elsewhere.
#include <fmt/format.h>

#include <tuple>

#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "fake_training.h"

namespace dtrain {
namespace {

// Examples at a server, which falls silent after so many of them. A stop signal follows.
class Elsewhere : public ExampleSource {
 public:
  Elsewhere(ExampleSourcePtr source, int64_t answers) : source_(std::move(source)), answers_(answers) {}
  int64_t size() const override { return source_->size(); }
  at::IntArrayRef shape() const override { return source_->shape(); }
  void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const override {
    answers_ -= std::ssize(indices);
    if (answers_ < 0) throw Error(ExitCode::kStopped, "stopped while fetching data");
    source_->read(indices, values, slot);
  }
  std::shared_ptr<const void> expect(std::span<const int64_t> /*indices*/) const override {
    return std::make_shared<int>();
  }

 private:
  const ExampleSourcePtr source_;
  mutable int64_t answers_;
};

constexpr int64_t kAll = 1000;

void put_elsewhere(Training& training, int64_t trained = kAll, int64_t evaluated = kAll) {
  training.job.spec.data.stream = true;
  training.dataset.train = std::make_shared<Elsewhere>(training.dataset.train, trained);
  training.dataset.test = std::make_shared<Elsewhere>(training.dataset.test, evaluated);
}

// Runs it until it is stopped. Returns the checkpoints' states.
std::vector<TrainingState> saved_by(Training& training, ExitCode code = ExitCode::kStopped) {
  try {
    training.run();
    FAIL("the run was not stopped");
  } catch (const Error& error) {
    CHECK(error.code() == code);
  }
  std::vector<TrainingState> states;
  for (const SavedCheckpoint& saved : list_checkpoints(training.folder / "checkpoints"))
    states.push_back(load_checkpoint(saved.path).state);
  return states;
}

// The run that goes on from `state` does what the stopped one has left.
void check_rest(const Training& stopped, const TrainingState& state) {
  Training whole, rest;
  whole.run();
  rest.strategy.steps_before = state.step;
  const Resumption from{state, {}};
  rest.run(/*evaluates=*/true, &from);
  const auto check_both = [&](const auto& of) {
    auto both = of(stopped);
    for (const auto& one : of(rest)) both.push_back(one);
    CHECK(both == of(whole));
  };
  check_both([](const Training& one) { return one.strategy.learning_rates; });
  check_both([](const Training& one) { return one.strategy.steps; });
  for (const char* kind : {"epoch", "eval"}) {
    check_both([&](const Training& one) { return one.values<int64_t>(kind, "epoch"); });
    check_both([&](const Training& one) { return one.values<double>(kind, "loss"); });
  }
  const auto saved = list_checkpoints(rest.folder / "checkpoints");
  CHECK(saved.back().step == 15);
  CHECK(saved.front().step == (state.unevaluated ? state.step : 15));  // again, with its evaluation
  CHECK_FALSE(load_checkpoint(saved.front().path).state.metrics.empty());
}

// An epoch has five steps, the last of two examples, and an evaluation.
TEST_CASE("when data do not come after a stop signal, the last step is saved, also within an evaluation") {
  using Case = std::tuple<int64_t, int64_t, int64_t>;
  const auto [trained, evaluated, step] = GENERATE(
      values<Case>({{7, kAll, 1}, {18 + 4, kAll, 6}, {kAll, 0, 5}, {kAll, 7 + 4, 10}, {kAll, 20, 15}}));
  Training stopped({fmt::format("data.prefetch={}", GENERATE(0, 3))});
  put_elsewhere(stopped, trained, evaluated);
  const auto states = saved_by(stopped);
  REQUIRE(states.size() == 1);
  CHECK(states[0].step == step);
  CHECK(states[0].epoch == step / 5);
  CHECK(states[0].position == step % 5 * 4);
  CHECK(states[0].unevaluated == (step % 5 == 0));
  CHECK(states[0].metrics.empty());
  check_rest(stopped, states[0]);
}

TEST_CASE("a replica for whose peer data do not come saves the step that both have made, and stops") {
  const int64_t step = GENERATE(3, 5, 8, 15);
  Training stopped({fmt::format("data.prefetch={}", GENERATE(0, 3))});
  put_elsewhere(stopped);
  stopped.strategy.peer_lacks = step;
  const auto states = saved_by(stopped);
  REQUIRE(states.size() == 1);
  CHECK(states[0].step == step);
  CHECK(states[0].unevaluated == (step % 5 == 0));
  CHECK(stopped.strategy.calls.back() == "finish");
  check_rest(stopped, states[0]);
}

TEST_CASE("replicas meet for data that come from elsewhere, again when they have taken what all had") {
  Training here({"train.epochs=2"}), elsewhere({"train.epochs=2", "evaluate.batch_per_replica=2"});
  here.run();
  CHECK(here.strategy.meetings.empty());
  put_elsewhere(elsewhere);
  elsewhere.strategy.all_ready = 2;
  elsewhere.run();
  // Each epoch and each evaluation begins with one: five steps, and four batches.
  CHECK(elsewhere.strategy.meetings == Numbers{0, 2, 4, 5, 5, 5, 7, 9, 10, 10});
  Training slow({"train.epochs=1"});  // whose batches are not prepared in advance
  put_elsewhere(slow);
  slow.run();
  CHECK(slow.strategy.meetings == Numbers{0, 1, 2, 3, 4, 5});
}

TEST_CASE("an evaluation that is stopped twice is made by the third run") {
  Training first, second;
  put_elsewhere(first, kAll, 0);
  put_elsewhere(second, kAll, 0);
  const auto states = saved_by(first);
  REQUIRE(states.size() == 1);
  const Resumption from{states[0], {}};
  second.strategy.steps_before = 5;
  CHECK_THROWS_AS(second.run(/*evaluates=*/true, &from), Error);
  CHECK(second.strategy.steps.empty());
  CHECK(list_checkpoints(second.folder / "checkpoints").empty());  // there is one of this step
  check_rest(first, states[0]);
}

TEST_CASE(
    "an evaluation that was stopped is made also where fewer of them are now enough to end the training") {
  Training stopped;
  put_elsewhere(stopped, kAll, 0);
  const auto states = saved_by(stopped);
  REQUIRE(states.size() == 1);
  Resumption from{states[0], {}};
  from.state.callbacks["early_stopping"] = {{"best", 0.1}, {"best_epoch", 1}, {"waited", 1}};
  Training rest({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=1",
                 "callbacks.early_stopping.restore_best=false"});
  rest.strategy.steps_before = 5;
  rest.run(/*evaluates=*/true, &from);
  CHECK(rest.values<int64_t>("eval", "epoch") == Numbers{1});
  CHECK(rest.strategy.steps.empty());
}

TEST_CASE("the evaluation after max_steps, within an epoch, is made by the run that resumes") {
  Training stopped({"train.max_steps=7"}), rest({"train.max_steps=7"});
  put_elsewhere(stopped, kAll, 7);
  const auto states = saved_by(stopped);
  REQUIRE(states.size() == 1);
  CHECK(states[0].step == 7);
  CHECK(states[0].position == 8);
  CHECK_FALSE(states[0].unevaluated);
  rest.strategy.steps_before = 7;
  const Resumption from{states[0], {}};
  rest.run(/*evaluates=*/true, &from);
  CHECK(rest.strategy.steps.empty());
  CHECK(rest.values<int64_t>("eval", "epoch") == Numbers{2});
  // Its event is that of the stopped run, which goes when the file of metrics is taken back to the
  // checkpoint.
  for (const char* same : {"loss", "learning_rate"})
    CHECK(rest.values<double>("epoch", same).back() == stopped.values<double>("epoch", same).back());
}

TEST_CASE("what is no state after a step is not saved, and a run that saves nothing does not say so") {
  Training begin, unsaved({"checkpoint.final=false"});
  put_elsewhere(begin, 3);
  CHECK(saved_by(begin, ExitCode::kData).empty());
  put_elsewhere(unsaved, 7);
  CHECK(saved_by(unsaved, ExitCode::kData).empty());
}

}  // namespace
}  // namespace dtrain
