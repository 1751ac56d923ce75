#include "callbacks/callbacks.h"

#include <fstream>

#include "callbacks/target_accuracy.h"
#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "runs/receipts.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The callbacks of a job in a folder of its own, and what they say.
struct Watched {
  JobPlan job;
  TemporaryFolder folder;
  RecordingSink sink;
  std::unique_ptr<CallbackList> list;

  explicit Watched(const std::vector<std::string>& overrides, bool leads = true) : job(small_job(overrides)) {
    make(leads);
  }
  void make(bool leads = true) {
    list =
        std::make_unique<CallbackList>(CallbackContext{job, job.distributed_run(), folder / "", sink}, leads);
  }
  void start(int64_t resumed_step = 0) {
    auto start = begin_event<RunStartEvent>("distributed");
    if (resumed_step > 0) start.resumed_step = resumed_step;
    list->on_event(encode(start));
  }
  void epoch(int64_t epoch, const std::optional<int64_t>& steps = std::nullopt) {
    auto event = begin_event<EpochEvent>("distributed");
    event.epoch = epoch;
    event.steps = steps;
    event.metrics = {{"loss", 0.5}};
    event.learning_rate = 0.01;
    list->on_event(encode(event));
  }
  void evaluate(int64_t epoch, double loss, double accuracy = 0.5,
                const std::optional<std::string>& part = std::nullopt) {
    auto evaluation = begin_event<EvalEvent>("distributed");
    evaluation.part = part;
    evaluation.epoch = epoch;
    evaluation.step = epoch * 5;
    evaluation.metrics = {{"loss", loss}, {"accuracy", accuracy}};
    list->on_event(encode(evaluation));
  }
};

TEST_CASE("without callbacks in the spec, on other replicas and in other runs there are none") {
  Watched none({});
  CHECK_FALSE(has_callbacks(none.job, none.job.distributed_run()));
  Watched follower({"callbacks.csv=true", "callbacks.early_stopping.metric=loss"}, /*leads=*/false);
  CHECK(has_callbacks(follower.job, follower.job.distributed_run()));
  follower.start();
  follower.evaluate(1, 0.5);
  CHECK(follower.list->state().empty());
  CHECK(follower.sink.events.size() == 2);  // passed on
  CHECK_FALSE(fs::exists(follower.folder / "history.csv"));
  RunPlan baseline = follower.job.distributed_run();
  baseline.kind = RunKind::kBaseline;
  CHECK_FALSE(has_callbacks(follower.job, baseline));
}

TEST_CASE("early stopping waits for so many evaluations without improvement") {
  Watched job({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=2",
               "callbacks.early_stopping.min_delta=0.1"});
  const auto ends_after = [&](int64_t epoch, double loss) {
    job.evaluate(epoch, loss);
    return job.list->want_to_end();
  };
  CHECK_FALSE(job.list->want_to_end());
  CHECK_FALSE(ends_after(1, 1.0));
  CHECK_FALSE(ends_after(2, 0.95));  // no improvement by 0.1
  CHECK_FALSE(ends_after(3, 0.85));
  CHECK_FALSE(ends_after(4, std::nan("")));
  CHECK(ends_after(5, 0.8));
  CHECK(job.list->want_to_end());
  const auto messages = job.sink.of("message");
  REQUIRE(messages.size() == 1);  // once
  CHECK_THAT(messages[0].at("text").get<std::string>(), ContainsSubstring("at its best in epoch 3 (0.85)"));
}

TEST_CASE("early stopping says so if its metric never had a value") {
  Watched job({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=2"});
  job.evaluate(1, std::nan(""));
  job.evaluate(2, std::nan(""));
  CHECK(job.list->want_to_end());
  CHECK_THAT(job.sink.of("message").at(0).at("text").get<std::string>(),
             ContainsSubstring("loss was not a number in any of 2 evaluations"));
}

TEST_CASE("early stopping by accuracy wants it to rise") {
  Watched job({"callbacks.early_stopping.metric=accuracy", "callbacks.early_stopping.patience=1"});
  job.evaluate(1, 1, 0.5);
  job.evaluate(2, 2, 0.6);
  CHECK_FALSE(job.list->want_to_end());
  job.evaluate(3, 0.1, 0.6);
  CHECK(job.list->want_to_end());
}

TEST_CASE("early stopping goes by the validation part alone") {
  Watched job({"callbacks.early_stopping.metric=loss", "callbacks.early_stopping.patience=1",
               "data.split.validation=0.25"});
  job.evaluate(1, 1.0, 0.5, kValidationPart);
  job.evaluate(1, 2.0, 0.5, kTestPart);  // worse, but not what counts
  CHECK_FALSE(job.list->want_to_end());
  job.evaluate(2, 1.5, 0.5, kValidationPart);
  job.evaluate(2, 0.5, 0.5, kTestPart);
  CHECK(job.list->want_to_end());
}

TEST_CASE("the callback that docs/extending.md writes ends a training at its target") {
  Watched job({});
  const auto callback = make_target_accuracy({job.job, job.job.distributed_run(), job.folder / "", job.sink});
  const auto reason_after = [&](double accuracy) {
    auto evaluation = begin_event<EvalEvent>("distributed");
    evaluation.metrics = {{"accuracy", accuracy}};
    callback->on_event(encode(evaluation));
    return callback->reason_to_end().value_or("none");
  };
  CHECK(reason_after(0.89) == "none");
  CHECK(reason_after(0.93) == "the accuracy is 0.9300, as much as was asked for");
}

TEST_CASE("what callbacks remember is restored") {
  const std::vector<std::string> spec = {"callbacks.early_stopping.metric=loss",
                                         "callbacks.early_stopping.patience=2", "callbacks.csv=true"};
  Watched job(spec);
  job.start();
  job.evaluate(1, 0.5);
  job.evaluate(2, 0.6);
  const auto state = job.list->state();
  const std::string history = content_of(job.folder / "history.csv");
  job.evaluate(3, 0.7);
  CHECK(job.list->want_to_end());

  job.make();  // another process
  job.list->restore(state);
  job.start(10);
  CHECK(content_of(job.folder / "history.csv") == history);
  CHECK_FALSE(job.list->want_to_end());
  job.evaluate(3, 0.7);
  CHECK(job.list->want_to_end());
  CHECK(job.list->state().at("early_stopping").at("waited") == 2);
  Watched other({"callbacks.early_stopping.metric=accuracy", "callbacks.early_stopping.patience=1"});
  other.list->restore(job.list->state());  // by another metric
  CHECK_FALSE(other.list->want_to_end());
  CHECK(other.list->state().at("early_stopping").at("best").is_null());
  auto nonsense = state;
  nonsense["early_stopping"] = {{"waited", "long"}};
  CHECK_THROWS_AS(job.list->restore(nonsense), Error);
  nonsense = state;
  nonsense["early_stopping"]["waited"] = -1;
  CHECK_THROWS_AS(job.list->restore(nonsense), Error);
  CHECK_NOTHROW(job.list->restore(nlohmann::ordered_json::object()));
}

TEST_CASE("the history has a line for every epoch and evaluation, and another folder gets a new one") {
  Watched job({"callbacks.csv=true"});
  job.start();
  job.epoch(1);
  job.evaluate(1, 0.25, 0.75);
  CHECK(content_of(job.folder / "history.csv") ==
        "epoch,step,phase,loss,accuracy,learning_rate,examples_per_second,seconds,top_5_accuracy,"
        "macro_precision,macro_recall,macro_f1\n"
        "1,,train,0.5,,0.01,,,,,,\n"
        "1,5,eval,0.25,0.75,,,,,,,\n");
  Watched other({"callbacks.csv=true"});
  other.list->restore(job.list->state());
  other.start(5);
  other.evaluate(2, 0.25);
  CHECK(content_of(other.folder / "history.csv").rfind("epoch,step,phase", 0) == 0);
  remove_files_of_callbacks(job.folder / "");
  CHECK_FALSE(fs::exists(job.folder / "history.csv"));
}

TEST_CASE("a run that goes on after train.max_steps has no epoch twice in its history, and all evaluations") {
  Watched job({"callbacks.csv=true"});
  const int64_t steps = job.job.distributed_run().steps_per_epoch;
  REQUIRE(steps > 1);
  job.start();
  job.epoch(1, steps);
  job.epoch(2, steps - 1);
  job.evaluate(2, 0.25, 0.75);
  CHECK_THAT(content_of(job.folder / "history.csv"), ContainsSubstring("\n2,,train"));
  const auto state = job.list->state();
  job.make();  // another process
  job.list->restore(state);
  job.start(10);
  job.epoch(2, steps);
  const std::string history = content_of(job.folder / "history.csv");
  CHECK(history.substr(history.find('\n')) ==
        "\n1,,train,0.5,,0.01,,,,,,\n"
        "2,10,eval,0.25,0.75,,,,,,,\n"
        "2,,train,0.5,,0.01,,,,,,\n");
}

Event receipt(int step) {
  return Event{{"step", step},
               {"examples", "e"},
               {"replicas", {"r"}},
               {"gradient", {{"w", "g"}}},
               {"weights", {{"w", "v"}}}};
}

TEST_CASE("files that have lost their end go on after the last whole line, with a warning") {
  Watched job({"callbacks.csv=true", "receipts.every_steps=2"});
  job.start();
  job.epoch(1);
  job.list->on_receipt(receipt(2));
  const std::string history = content_of(job.folder / "history.csv");
  job.epoch(2);
  job.list->on_receipt(receipt(4));
  const auto state = job.list->state();
  for (const char* name : {"history.csv", kReceiptsFile})
    fs::resize_file(job.folder / name, fs::file_size(job.folder / name) - 3);

  job.make();  // another process, after the power had failed
  job.list->restore(state);
  job.start(5);
  const auto warnings = job.sink.of("warning");
  REQUIRE(warnings.size() == 2);
  for (const Event& warning : warnings)
    CHECK_THAT(warning.at("text").get<std::string>(), ContainsSubstring("lines are missing"));
  CHECK(content_of(job.folder / "history.csv") == history);
  job.list->on_receipt(receipt(6));
  CHECK(read_receipts(job.folder / "") == std::vector<Event>{receipt(2), receipt(6)});

  // It is killed before it saves, and lines longer than those of before have come.
  std::ofstream(job.folder / "history.csv", std::ios::app) << std::string(1000, '7') << "\n";
  job.make();
  job.list->restore(state);
  CHECK(content_of(job.folder / "history.csv") == history);

  for (const char* name : {"history.csv", kReceiptsFile}) std::ofstream(job.folder / name) << "cut";
  job.make();
  job.list->restore(state);
  job.start(5);
  CHECK(content_of(job.folder / "history.csv") == history.substr(0, history.find('\n') + 1));
  CHECK(content_of(job.folder / kReceiptsFile).empty());
}

TEST_CASE("receipts after a checkpoint are removed, and the chain goes on, in another folder too") {
  const std::vector<std::string> spec = {"receipts.every_steps=2"};
  Watched job(spec);
  CHECK(has_callbacks(job.job, job.job.distributed_run()));
  job.start();
  job.list->on_receipt(receipt(2));
  const auto state = job.list->state();
  const std::string first = content_of(job.folder / kReceiptsFile);
  job.list->on_receipt(receipt(4));
  const std::string both = content_of(job.folder / kReceiptsFile);

  job.make();  // another process
  job.list->restore(state);
  job.start(3);
  CHECK(content_of(job.folder / kReceiptsFile) == first);
  job.list->on_receipt(receipt(4));
  CHECK(content_of(job.folder / kReceiptsFile) == both);

  Watched other(spec);
  other.list->restore(state);
  other.start(3);
  other.list->on_receipt(receipt(4));
  CHECK(first + content_of(other.folder / kReceiptsFile) == both);
  CHECK(read_receipts(job.folder / "") == std::vector<Event>{receipt(2), receipt(4)});

  job.make();  // a run that begins again
  job.start();
  CHECK(content_of(job.folder / kReceiptsFile).empty());
  remove_files_of_callbacks(job.folder / "");
  CHECK_FALSE(fs::exists(job.folder / kReceiptsFile));
}

TEST_CASE("the history and TensorBoard name the part that was evaluated") {
  Watched job({"callbacks.csv=true", "callbacks.tensorboard=true"});
  job.start();
  job.evaluate(1, 0.25, 0.75, kValidationPart);
  job.evaluate(1, 0.5, 0.5, kTestPart);
  CHECK_THAT(content_of(job.folder / "history.csv"),
             ContainsSubstring("1,5,validation,0.25,0.75,,,,,,,\n1,5,test,0.5,0.5,,,,,,,\n"));
  std::string scalars;
  for (const auto& entry : fs::directory_iterator(job.folder / "tensorboard"))
    scalars += content_of(entry.path());
  for (const char* name : {"validation/loss", "validation/accuracy", "test/loss", "test/accuracy"})
    CHECK_THAT(scalars, ContainsSubstring(name));
  CHECK_THAT(scalars, !ContainsSubstring("eval/"));
}

TEST_CASE("the learning rate is said after every epoch, and TensorBoard gets a file") {
  Watched job({"callbacks.print_learning_rate=true", "callbacks.tensorboard=true"});
  job.start();
  job.epoch(1);
  CHECK(job.sink.of("message").at(0).at("text") == "learning rate of epoch 1: 0.01");
  CHECK_FALSE(fs::is_empty(job.folder / "tensorboard"));
  std::ofstream(job.folder / "tensorboard/mine") << "stays";
  remove_files_of_callbacks(job.folder / "");
  CHECK(std::distance(fs::directory_iterator(job.folder / "tensorboard"), fs::directory_iterator()) == 1);
}

}  // namespace
}  // namespace dtrain
