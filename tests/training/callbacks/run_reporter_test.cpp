#include "callbacks/run_reporter.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "core/version.h"
#include "metrics/event_tables.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

// `correct` of `examples` predictions are right, and each example's loss is `loss`.
MetricSums sums_of(int64_t examples, int64_t correct, double loss) {
  MetricSums sums;
  const at::Tensor targets = at::zeros({examples}, at::kLong);
  at::Tensor logits = at::zeros({examples, 2});
  logits.slice(0, correct).select(1, 1).fill_(1);  // the rest predicts class 1
  sums.add_batch(*make_objective(TrainSpec()), logits, targets,
                 at::scalar_tensor(loss * static_cast<double>(examples)));
  return sums;
}

StepTimes computing_for(double seconds) {
  StepTimes times;
  times[StepTime::kCompute] = seconds;
  return times;
}

TEST_CASE("run_start has every number of the run") {
  JobPlan job = small_job({"strategy.kind=mirrored", "strategy.replicas=3", "batch.accumulate_steps=2",
                           "train.learning_rate_scaling.rule=linear",
                           "train.learning_rate_scaling.reference_batch=12", "metrics.skip_steps=4"});
  job.data.requested = "mnist";  // as after a fallback
  RecordingSink sink;
  RunReporter(job, job.distributed_run(), sink).on_run_start();
  REQUIRE(sink.events.size() == 1);
  const Event& start = sink.events[0];
  const std::vector<std::pair<std::string, nlohmann::ordered_json>> expected = {
      {"event", "run_start"},
      {"run", "distributed"},
      {"name", "small"},
      {"strategy", "mirrored"},
      {"replicas", 3},
      {"devices", {"cpu", "cpu", "cpu"}},
      {"threads_per_replica", 1},
      {"global_batch", 24},
      {"per_replica_batch", 4},
      {"accumulate_steps", 2},
      {"learning_rate", 0.002},
      {"learning_rate_derivation", "0.001 x 24/12 (linear) = 0.002"},
      {"warmup_steps", 0},
      {"steps_per_epoch", 1},
      {"epochs", 3},
      {"total_steps", 3},
      {"train_examples", 18},
      {"test_examples", 7},
      {"dataset", "synthetic"},
      {"dataset_requested", "mnist"},
      {"dataset_source", "generated"},
      {"parameters", 16 * 5 + 5 + 5 * 3 + 3},
      {"dtype", "float32"},
      {"precision", "float32"},
      {"execution", "compiled"},
      {"seed", 42},
      {"skipped_steps", 4},
      {"dtrain", kVersion},
  };
  for (const auto& [key, value] : expected) {
    INFO(key);
    REQUIRE(start.contains(key));
    CHECK(start[key] == value);
  }
  CHECK_THAT(start["libtorch"].get<std::string>(), ContainsSubstring("."));
  for (const char* key : {"host", "processor", "products"})
    CHECK_FALSE(start[key].get<std::string>().empty());
}

TEST_CASE("a training loss that ends above where it began is told once, with the field to change") {
  const JobPlan job = small_job();
  const auto warnings = [&](const std::vector<double>& losses, int64_t resumed_step) {
    RecordingSink sink;
    RunReporter reporter(job, job.distributed_run(), sink);
    reporter.on_run_start(resumed_step);
    for (size_t i = 0; i < losses.size(); ++i) {
      reporter.on_window(static_cast<int64_t>(i) + 1, 1, 0.1, sums_of(4, 2, losses[i]));
      reporter.on_epoch(static_cast<int64_t>(i) + 1, 1, 1, 0.1, sums_of(4, 2, losses[i]));
    }
    reporter.on_run_end(static_cast<int64_t>(losses.size()), 1);
    std::vector<std::string> texts;
    for (const Event& event : sink.of("warning")) texts.push_back(event["text"]);
    return texts;
  };
  CHECK(warnings({1, 0.5, 2}, 0) ==
        std::vector<std::string>{
            "the training loss rose from 1 at the beginning to 2 in the last epoch; a lower "
            "train.optimizer.learning_rate usually helps"});
  CHECK(warnings({1, 3, 0.9}, 0).empty());
  CHECK(warnings({1}, 0).empty());
  CHECK(warnings({1, 2}, 7).empty());  // it did not begin here
}

TEST_CASE("where the first window is spoiled, the training began with its first step") {
  const JobPlan job = small_job();
  const auto warnings = [&](int64_t examples, double last) {
    RecordingSink sink;
    RunReporter reporter(job, job.distributed_run(), sink);
    reporter.on_run_start();
    reporter.on_first_step(sums_of(examples, 0, 2));
    reporter.on_window(1, 50, 0.1, sums_of(800, 0, 1e12));
    reporter.on_epoch(1, 50, 1, 0.1, sums_of(800, 0, last));
    reporter.on_run_end(1, 50);
    return sink.of("warning");
  };
  REQUIRE(warnings(16, 5).size() == 1);
  CHECK_THAT(warnings(16, 5)[0]["text"].get<std::string>(),
             ContainsSubstring("rose from 2 at the beginning to 5 in the last epoch"));
  CHECK(warnings(16, 4).empty());  // so few examples may differ that much
  CHECK(warnings(15, 5).empty());
  REQUIRE(warnings(15, 5.5).size() == 1);  // of three classes: guessing comes to log(3)
  CHECK_THAT(warnings(15, 5.5)[0]["text"].get<std::string>(),
             ContainsSubstring("is 5.5, and guessing would come to 1.099, the logarithm of the number of "
                               "classes; a lower train.optimizer.learning_rate usually helps"));
}

TEST_CASE("a model of numbers that ends worse than the mean of the targets is told, with what to change") {
  const JobPlan job = small_job();
  JobPlan with_validation = job;
  with_validation.data.validation_examples = 2;
  // Of targets 1 and 3, both predicted as `predicted`: r2 is 1 - (predicted - 2)^2 - 1.
  const auto sums_of_numbers = [](double predicted) {
    TrainSpec train;
    train.loss.kind = "mean_squared_error";
    MetricSums sums;
    sums.add_batch(*make_objective(train), at::full({2, 1}, predicted), at::tensor({1.0F, 3.0F}).view({2, 1}),
                   at::scalar_tensor(1.0));
    return sums;
  };
  const auto warnings = [&](const JobPlan& planned, double evaluated, double tested) {
    RecordingSink sink;
    RunReporter reporter(planned, planned.distributed_run(), sink);
    reporter.on_run_start();
    reporter.on_evaluation(1, 1, 1, sums_of_numbers(evaluated));
    if (planned.data.has_validation()) reporter.on_evaluation(1, 1, 1, sums_of_numbers(tested), true);
    reporter.on_run_end(1, 1);
    std::vector<std::string> texts;
    for (const Event& event : sink.of("warning")) texts.push_back(event["text"]);
    return texts;
  };
  const std::vector<std::string> told = {
      "r2 of the test examples is -0.25: the mean of the targets would predict them better; usually "
      "train.optimizer.learning_rate does not fit (dtrain find-lr looks for one), or the targets need a "
      "scale "
      "of about 1 (docs/tables.md)"};
  CHECK(warnings(job, 2.5, 0) == told);
  CHECK(warnings(job, 2, 0).empty());  // as good as the mean
  REQUIRE(warnings(with_validation, 2.5, 2).size() == 1);
  CHECK_THAT(warnings(with_validation, 2.5, 2)[0], ContainsSubstring("r2 of the validation examples"));
  CHECK(warnings(with_validation, 2, 2.5).empty());
}

TEST_CASE("the loss scale and the updates that it cost are told") {
  const JobPlan job = small_job({"train.precision=fp16_mixed"});
  const auto scale = std::make_shared<LossScale>();
  RecordingSink sink;
  RunReporter reporter(
      job, job.distributed_run(), sink, [] { return Traffic(); }, nullptr, scale);
  reporter.on_run_start();
  scale->update(/*finite=*/false);
  reporter.on_window(1, 2, 0.1, sums_of(1, 1, 1));
  reporter.on_run_end(1, 2);
  const Event step = sink.of("step").at(0);
  CHECK(step.at("loss_scale") == 32768.0);
  CHECK(step.at("skipped_updates") == 1);
  CHECK(sink.of("run_end").at(0).at("skipped_updates") == 1);
}

TEST_CASE("a dataset that was asked for is not called a fallback") {
  const JobPlan job = small_job();
  RecordingSink sink;
  RunReporter(job, job.distributed_run(), sink).on_run_start();
  CHECK_FALSE(sink.events[0].contains("dataset_requested"));
}

TEST_CASE("where workers train on their own, rates are of all of them and the end tells about each") {
  const JobPlan job = small_job({"strategy.kind=parameter_server", "strategy.workers=3", "strategy.servers=2",
                                 "strategy.max_staleness=4"});
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_run_start();
  CHECK(sink.events.at(0)["servers"] == 2);
  CHECK(sink.events.at(0)["replicas"] == 3);
  CHECK(sink.events.at(0)["max_staleness"] == 4);
  reporter.on_step(1, 1, computing_for(0.010), 12);
  reporter.on_epoch(1, 1, 0.25, 0.5, sums_of(10, 3, 1.25));
  CHECK(sink.of("epoch").at(0)["examples_per_second"] == Approx(10 / 0.25));

  WorkersReport workers;
  for (const int64_t staleness : {0, 0, 2, 70}) workers.staleness.add(staleness);
  workers.workers = {{.updates = 11, .examples = 44, .first_update = 1, .last_update = 2},
                     {.updates = 21, .examples = 84, .first_update = 1, .last_update = 2, .lost = true},
                     {.updates = 3, .examples = 12, .first_update = 1, .last_update = 2}};
  reporter.on_run_end(1, 1, workers);
  const Event end = sink.of("run_end").at(0);
  CHECK(end["examples_per_second"] == Approx((10 + 20 + 2) * 4));
  CHECK(end["staleness"]["updates"] == Event({{"0", 2}, {"2", 1}, {"64-127", 1}}));
  CHECK(end["staleness"]["maximum"] == 70);
  CHECK(end["staleness"]["mean"] == 18);
  REQUIRE(end["workers"].size() == 3);
  CHECK(end["workers"][0] == Event({{"updates", 11}, {"examples", 44}, {"updates_per_second", 10.0}}));
  CHECK(end["workers"][1]["lost"] == true);
  CHECK_FALSE(end["workers"][1].contains("straggler"));
  CHECK(end["workers"][2]["straggler"] == true);
}

TEST_CASE("windows, epochs and evaluations carry their means") {
  const JobPlan job = small_job();
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_step(1, 1, computing_for(0.010), 4);
  reporter.on_step(1, 2, computing_for(0.030), 4);
  reporter.on_window(1, 2, 0.5, sums_of(8, 2, 1.5));
  reporter.on_step(1, 3, computing_for(0.020), 4);
  reporter.on_epoch(1, 3, 0.25, 0.5, sums_of(12, 3, 1.25));
  reporter.on_evaluation(1, 3, 0.125, sums_of(7, 7, 0.75));

  const Event window = sink.of("step").at(0);
  CHECK(window["epoch"] == 1);
  CHECK(window["step"] == 2);
  CHECK(window["loss"] == Approx(1.5));
  CHECK(window["accuracy"] == Approx(0.25));
  CHECK(window["learning_rate"] == 0.5);
  CHECK(window["step_ms"] == Approx(20));  // the mean of the two middle ones
  CHECK(window["examples_per_second"] == Approx((400 + 4 / 0.03) / 2));

  const Event epoch = sink.of("epoch").at(0);
  CHECK(epoch["epoch"] == 1);
  CHECK(epoch["steps"] == 3);
  CHECK(epoch["examples"] == 12);
  CHECK(epoch["seconds"] == 0.25);
  CHECK(epoch["loss"] == Approx(1.25));
  CHECK(epoch["accuracy"] == Approx(0.25));
  CHECK(epoch["step_ms"] == Approx(20));

  const Event evaluation = sink.of("eval").at(0);
  CHECK(evaluation["epoch"] == 1);
  CHECK(evaluation["step"] == 3);
  CHECK(evaluation["loss"] == Approx(0.75));
  CHECK(evaluation["accuracy"] == Approx(1));
  CHECK(evaluation["examples"] == 7);
  CHECK(evaluation["seconds"] == 0.125);
  for (const Event& event : sink.events) {
    CHECK(event["run"] == "distributed");
    CHECK(event.contains("time"));
  }
}

TEST_CASE("an epoch's speed is of its own steps, a window's of the window's") {
  const JobPlan job = small_job();
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  for (int64_t epoch = 1; epoch <= 2; ++epoch) {
    const double seconds = epoch == 1 ? 0.010 : 0.040;
    reporter.on_step(epoch, epoch, computing_for(seconds), 4);
    reporter.on_window(epoch, epoch, 0.5, sums_of(4, 1, 1));
    reporter.on_epoch(epoch, 1, seconds, 0.5, sums_of(4, 1, 1));
  }
  for (const char* kind : {"step", "epoch"}) {
    INFO(kind);
    CHECK(sink.of(kind).at(0)["step_ms"] == Approx(10));
    CHECK(sink.of(kind).at(1)["step_ms"] == Approx(40));
  }
}

TEST_CASE("steps that nobody waits for took equal parts of the time until they were made") {
  const JobPlan job = small_job({"metrics.skip_steps=0"});
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_run_start();
  reporter.on_steps_made(computing_for(5));  // no steps took part of it
  // The host told the devices of three steps at once, and waited for them.
  for (const double seconds : {0.001, 0.001, 0.004})
    reporter.on_step(1, 1, computing_for(seconds), 4, /*made=*/false);
  reporter.on_steps_made(computing_for(0.294));
  reporter.on_window(1, 3, 0.5, sums_of(12, 1, 1));
  CHECK(sink.of("step").at(0)["step_ms"] == Approx(100));
  CHECK(sink.of("step").at(0)["examples_per_second"] == Approx(40));
  reporter.on_epoch(1, 3, 0.3, 0.5, sums_of(12, 1, 1));
  reporter.on_run_end(1, 3);
  CHECK(sink.of("run_end").at(0)["step_ms"] == Approx(100));
  CHECK(sink.of("run_end").at(0)["phases_ms"]["compute"] == Approx(100));
}

TEST_CASE("the warm-up of steps that nobody waits for is timed apart") {
  const JobPlan job = small_job({"metrics.skip_steps=2"});
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_run_start();
  CHECK(!reporter.ends_warm_up());
  reporter.on_step(1, 1, computing_for(0.001), 4, /*made=*/false);
  CHECK(!reporter.ends_warm_up());
  reporter.on_step(1, 2, computing_for(0.001), 4, /*made=*/false);
  CHECK(reporter.ends_warm_up());
  reporter.on_steps_made(computing_for(5));
  CHECK(!reporter.ends_warm_up());
  for (const int64_t step : {3, 4}) reporter.on_step(1, step, computing_for(0.001), 4, /*made=*/false);
  reporter.on_steps_made(computing_for(0.198));
  reporter.on_run_end(1, 4);
  CHECK(sink.of("run_end").at(0)["step_ms"] == Approx(100));
  CHECK(sink.of("run_end").at(0)["skipped_steps"] == 2);
}

TEST_CASE("run_end is the medians of the run without its first steps, and the last evaluation") {
  const JobPlan job = small_job({"metrics.skip_steps=2"});
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_run_start();
  int64_t step = 0;
  for (const double seconds : {9.0, 8.0, 0.1, 0.3, 0.2})
    reporter.on_step(1, ++step, computing_for(seconds), 4);
  reporter.on_epoch(1, 5, 17.6, 0.5, sums_of(18, 1, 1));
  reporter.on_evaluation(1, 5, 0.1, sums_of(7, 1, 3));
  reporter.on_epoch(2, 5, 1.0, 0.5, sums_of(18, 1, 1));
  reporter.on_epoch(3, 5, 2.0, 0.5, sums_of(18, 1, 1));
  reporter.on_evaluation(3, 15, 0.1, sums_of(7, 7, 2));
  reporter.on_run_end(3, 15);

  const Event end = sink.of("run_end").at(0);
  CHECK(end["status"] == "completed");
  CHECK(end["exit_code"] == 0);
  CHECK(end["epochs"] == 3);
  CHECK(end["steps"] == 15);
  CHECK(end["seconds_per_epoch"] == Approx(2.0));  // the median of three
  CHECK(end["step_ms"] == Approx(200));
  CHECK(end["examples_per_second"] == Approx(20));
  CHECK(end["skipped_steps"] == 2);
  CHECK(end["loss"] == Approx(2));
  CHECK(end["accuracy"] == Approx(1));
  CHECK(end["seconds"].get<double>() >= 0);
  CHECK(end["seconds"].get<double>() < 60);
}

TEST_CASE("an epoch that train.max_steps has cut tells nothing about the time of one") {
  const JobPlan job = small_job({"train.max_steps=7"});
  for (const bool whole : {false, true}) {
    RecordingSink sink;
    RunReporter reporter(job, job.distributed_run(), sink);
    reporter.on_run_start();
    if (whole) reporter.on_epoch(1, 5, 10, 0.5, sums_of(18, 1, 1));
    reporter.on_epoch(2, 2, 4, 0.5, sums_of(8, 1, 1));
    reporter.on_run_end(2, 7);
    const Event end = sink.of("run_end").at(0);
    CHECK(end.contains("seconds_per_epoch") == whole);
    if (whole) CHECK(end["seconds_per_epoch"] == Approx(10));
  }
}

TEST_CASE("with a validation part events say which part was evaluated, without one nothing") {
  const JobPlan job = small_job({"data.split.validation=0.25"});
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_run_start();
  CHECK(sink.events.at(0)["train_examples"] == 14);
  CHECK(sink.events.at(0)["validation_examples"] == 4);
  CHECK(sink.events.at(0)["test_examples"] == 7);
  reporter.on_evaluation(1, 4, 0.1, sums_of(4, 1, 3));
  reporter.on_evaluation(2, 8, 0.1, sums_of(4, 2, 2));
  reporter.on_evaluation(2, 8, 0.1, sums_of(7, 7, 1), /*final_test=*/true);
  reporter.on_run_end(2, 8);
  CHECK(sink.of("eval").at(1)["part"] == "validation");
  CHECK(sink.of("eval").at(2)["part"] == "test");
  const Event end = sink.of("run_end").at(0);
  CHECK(end["part"] == "test");
  CHECK(end["loss"] == Approx(1));
  CHECK(end["accuracy"] == Approx(1));
  CHECK(end["validation"] == Event({{"loss", 2.0}, {"accuracy", 0.5}}));

  const JobPlan plain = small_job();
  RecordingSink other;
  RunReporter without(plain, plain.distributed_run(), other);
  without.on_run_start();
  without.on_evaluation(1, 4, 0.1, sums_of(7, 1, 3));
  without.on_run_end(1, 4);
  for (const Event& event : other.events) {
    for (const char* key : {"part", "validation", "validation_examples"}) CHECK_FALSE(event.contains(key));
  }
}

// Has the one event of T's kind every field that its table does not call optional?
template <class T>
void check_complete(const RecordingSink& sink) {
  const std::vector<Event> events = sink.of(T::table.kind);
  REQUIRE(events.size() == 1);
  for (const EventField<T>& field : T::table.fields) {
    if (!field.when.empty() || field.name.empty()) continue;
    INFO(T::table.kind << ": " << field.name);
    CHECK(events[0].contains(field.name));
  }
}

TEST_CASE("events have every field that is documented without a condition") {
  const JobPlan job = small_job();
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_run_start();
  reporter.on_step(1, 1, computing_for(0.01), 4);
  reporter.on_window(1, 1, 0.5, sums_of(4, 1, 1));
  reporter.on_epoch(1, 1, 0.1, 0.5, sums_of(4, 1, 1));
  reporter.on_evaluation(1, 1, 0.1, sums_of(7, 1, 1));
  reporter.on_warning("careful");
  reporter.on_run_end(1, 1);
  check_complete<RunStartEvent>(sink);
  check_complete<ProgressEvent>(sink);
  check_complete<StepEvent>(sink);
  check_complete<EpochEvent>(sink);
  check_complete<EvalEvent>(sink);
  check_complete<WarningEvent>(sink);
  check_complete<RunEndEvent>(sink);
}

TEST_CASE("a run that evaluated nothing has no loss and accuracy in its end") {
  const JobPlan job = small_job();
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  reporter.on_run_start();
  reporter.on_run_end(0, 0);
  const Event end = sink.of("run_end").at(0);
  for (const char* key : {"loss", "accuracy", "step_ms", "examples_per_second", "seconds_per_epoch"}) {
    INFO(key);
    CHECK_FALSE(end.contains(key));
  }
}

TEST_CASE("links are asked for at the end of a run, and reported if there are any") {
  const JobPlan job = small_job();
  std::optional<std::vector<LinkSummary>> links;
  for (const bool any : {false, true}) {
    if (any) links = {LinkSummary{{{"a", "b"}}, 10, 20, 0, 0.5, 0.25, 1e6}};
    RecordingSink sink;
    RunReporter reporter(
        job, job.distributed_run(), sink, [] { return Traffic(); }, nullptr, nullptr, [&] { return links; });
    reporter.on_run_start();
    reporter.look_at_links();
    reporter.on_run_end(0, 0);
    const Event end = sink.of("run_end").at(0);
    REQUIRE(end.contains("links") == any);
    if (any) CHECK(end["links"][0]["bytes_received"] == 20);
  }
}

TEST_CASE("what steps send is reported as their mean, without what was sent between them") {
  const JobPlan job = small_job();
  RecordingSink sink;
  Traffic so_far{1000, 50};  // before the first step
  RunReporter reporter(job, job.distributed_run(), sink, [&] { return so_far; });
  reporter.on_run_start();
  const auto step = [&](int64_t number, int64_t sent) {
    so_far += {sent, 2 * sent};
    reporter.on_step(1, number, computing_for(0.01), 4);
  };
  reporter.leave_out_traffic();
  step(1, 100);
  step(2, 300);
  reporter.on_window(1, 2, 0.1, sums_of(8, 4, 1));
  so_far += {7777, 7777};  // a checkpoint
  reporter.leave_out_traffic();
  step(3, 500);
  reporter.on_window(1, 3, 0.1, sums_of(4, 2, 1));
  reporter.on_epoch(1, 3, 0.03, 0.1, sums_of(12, 6, 1));
  reporter.on_run_end(1, 3);
  const auto steps = sink.of("step");
  REQUIRE(steps.size() == 2);
  CHECK(steps[0]["bytes_sent"] == 200);
  CHECK(steps[0]["bytes_received"] == 400);
  CHECK(steps[1]["bytes_sent"] == 500);
  CHECK(sink.of("epoch").at(0)["bytes_sent"] == 300);
  CHECK(sink.of("run_end").at(0)["bytes_received"] == 600);
}

TEST_CASE("progress is reported now and then, not in every step") {
  const JobPlan job = small_job();
  RecordingSink sink;
  RunReporter reporter(job, job.distributed_run(), sink);
  for (int64_t step = 1; step <= 1000; ++step) reporter.on_step(1, step, computing_for(0.001), 4);
  const auto progress = sink.of("progress");
  REQUIRE(!progress.empty());  // the first step shows that it goes on
  CHECK(progress.front()["step"] == 1);
  CHECK(progress.front()["epoch"] == 1);
  CHECK(progress.size() < 100);  // ten a second
}

}  // namespace
}  // namespace dtrain
