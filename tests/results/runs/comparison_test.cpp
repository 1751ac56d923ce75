#include "runs/comparison.h"

#include <cmath>
#include <tuple>

#include "catch.h"
#include "metrics/sample_events.h"

using namespace dtrain;

namespace {

RunSummary summary(const std::string& strategy, int64_t replicas, double rate, double step_ms) {
  RunSummary run;
  run.name = "mnist_mirrored";
  run.strategy = strategy;
  run.dataset = "mnist";
  run.replicas = replicas;
  run.global_batch = 128;
  run.status = "completed";
  run.seconds_per_epoch = 60000 / rate;
  run.speed.examples_per_second = rate;
  run.speed.step_ms = step_ms;
  run.metrics = {{"loss", 0.07}, {"accuracy", 0.978}};
  return run;
}

double& loss_of(RunSummary& run) { return run.metrics.at(0).second; }
double& accuracy_of(RunSummary& run) { return run.metrics.at(1).second; }

RunSummary baseline() { return summary("one_device", 1, 40000, 3.2); }
RunSummary distributed(double rate = 72000) { return summary("mirrored", 2, rate, 1.6); }

std::string verdict_of(const RunSummary& left, const RunSummary& right) {
  return compare_runs(left, right).verdict.value();
}

}  // namespace

TEST_CASE("a summary is gathered from a run's events") {
  SummaryCollector collector;
  collector.on_event(run_start("baseline", 1));
  collector.on_event(eval("baseline", 1));
  collector.on_event(run_start("distributed", 2));
  collector.on_event(run_end("distributed"));
  const RunSummary left = collector.of("baseline");
  CHECK(left.strategy == "one_device");
  CHECK(left.status.empty());
  CHECK(find_metric(left.metrics, "accuracy") == 0.976);
  CHECK_FALSE(left.speed.step_ms);
  const RunSummary right = collector.of("distributed");
  CHECK(right.name == "mnist_mirrored");
  CHECK(right.dataset == "fashion_mnist");
  CHECK(right.dataset_requested == "mnist");
  CHECK(right.replicas == 2);
  CHECK(right.global_batch == 128);
  CHECK(right.status == "completed");
  CHECK(right.seconds_per_epoch == 0.96);
  CHECK(right.speed.examples_per_second == 64000);
  CHECK(right.speed.step_ms == 2.0);
  CHECK(find_metric(right.metrics, "loss") == 0.0715);
  CHECK(collector.of("absent").status.empty());
}

TEST_CASE("a run that starts again forgets the numbers of before") {
  SummaryCollector collector;
  collector.on_event(run_start("baseline", 1));
  collector.on_event(run_end("baseline"));
  collector.on_event(run_start("baseline", 1));
  CHECK(collector.of("baseline").metrics.empty());
  CHECK(collector.of("baseline").status.empty());
}

TEST_CASE("the last evaluation counts") {
  SummaryCollector collector;
  Event second = eval("baseline", 2);
  second["accuracy"] = 0.99;
  collector.on_event(eval("baseline", 1));
  collector.on_event(second);
  CHECK(find_metric(collector.of("baseline").metrics, "accuracy") == 0.99);
}

TEST_CASE("the document holds starts, ends and the comparison") {
  SummaryCollector collector;
  collector.on_event(run_start("baseline", 1));
  collector.on_event(step("baseline", 1, 1));
  collector.on_event(run_end("baseline"));
  collector.on_event(encode(compare_runs(baseline(), distributed())));
  const Event& document = collector.document();
  CHECK(document.size() == 2);
  CHECK(document["baseline"]["run_start"] == run_start("baseline", 1));
  CHECK(document["baseline"]["run_end"] == run_end("baseline"));
  CHECK(document["comparison"]["speedup"] == Approx(1.8));
}

TEST_CASE("speedup, efficiency and overhead by hand") {
  const ComparisonEvent two = compare_runs(baseline(), distributed(), RelativeCost{0.05, 0.01});
  CHECK(two.speedup.value() == Approx(1.8));
  CHECK(two.scaling_efficiency.value() == Approx(0.9));
  CHECK(two.overhead.value() == Approx(0.05));
  RunSummary four = distributed(100000);
  four.replicas = 4;
  RunSummary from_two = baseline();
  from_two.replicas = 2;
  CHECK(compare_runs(from_two, four).speedup.value() == Approx(2.5));
  CHECK(compare_runs(from_two, four).scaling_efficiency.value() == Approx(1.25));
  CHECK_FALSE(compare_runs(from_two, four).overhead);
}

TEST_CASE("ratios of numbers that are missing or make no sense are missing") {
  for (const std::optional<double> rate : {std::optional<double>(), std::optional(0.0), std::optional(-1.0),
                                           std::optional(std::nan("")), std::optional(1e-320)}) {
    RunSummary left = baseline();
    left.speed.examples_per_second = rate;
    left.speed.step_ms = rate;
    const ComparisonEvent comparison = compare_runs(left, distributed());
    CHECK_FALSE(comparison.speedup);
    CHECK_FALSE(comparison.scaling_efficiency);
    CHECK_THAT(comparison.verdict.value(), ContainsSubstring("no steps were timed"));
  }
  RunSummary nobody = distributed();
  nobody.replicas = 0;
  CHECK_FALSE(compare_runs(baseline(), nobody).scaling_efficiency);
}

TEST_CASE("the comparison event holds what is known") {
  Event event = encode(compare_runs(baseline(), distributed(), RelativeCost{0.05, 0.01}));
  CHECK(event["event"] == "comparison");
  CHECK(event["run"] == "distributed");
  CHECK(event["baseline"]["strategy"] == "one_device");
  CHECK(event["distributed"]["examples_per_second"] == 72000.0);
  CHECK(event["distributed"]["global_batch"] == 128);
  CHECK(event["scaling_efficiency"] == Approx(0.9));
  CHECK(event["overhead"] == Approx(0.05));
  CHECK(event["overhead_uncertainty"] == Approx(0.01));
  CHECK_FALSE(event.contains("dataset_requested"));
  RunSummary short_run = distributed();
  short_run.speed.examples_per_second.reset();
  short_run.metrics.pop_back();
  event = encode(compare_runs(baseline(), short_run));
  for (const char* key : {"speedup", "scaling_efficiency", "overhead"}) CHECK_FALSE(event.contains(key));
  CHECK_FALSE(event["distributed"].contains("accuracy"));
}

TEST_CASE("the table, whole") {
  const std::string table =
      comparison_table(compare_runs(baseline(), distributed(), RelativeCost{0.05, 0.012}));
  CHECK(table == R"(comparison: mnist_mirrored, dataset mnist
metric                        baseline  distributed         ratio
                            one_device     mirrored
replicas                             1            2         2.000
global batch                       128          128         1.000
time per epoch                 1.500 s      0.833 s         0.556
examples/s                      40,000       72,000         1.800
step ms                          3.200        1.600         0.500
test loss                       0.0700       0.0700         1.000
test accuracy                   0.9780       0.9780         1.000
speedup                                                    1.80 x
scaling efficiency                                         90.0 %
overhead at equal replicas                           5.0 % +- 1.2
)");
  CHECK_THAT(comparison_table(compare_runs(baseline(), distributed(), RelativeCost{0.05, 0.012}), 60),
             ContainsSubstring("mirrored\nreplicas                             1            2\n") &&
                 ContainsSubstring("\noverhead at equal replicas  5.0 % +- 1.2\n"));
}

TEST_CASE("metrics that evaluations alone have are compared where both runs have them") {
  RunSummary left = baseline(), right = distributed();
  left.metrics.emplace_back("top_5_accuracy", 0.99);
  right.metrics.emplace_back("top_5_accuracy", 0.98);
  left.metrics.emplace_back("macro_f1", 0.5);
  const std::string table = comparison_table(compare_runs(left, right));
  CHECK_THAT(table, ContainsSubstring("test top_5_accuracy             0.9900       0.9800   0.990\n"));
  CHECK_THAT(table, !ContainsSubstring("macro_f1"));
}

TEST_CASE("with a validation part the comparison is of the test, and shows both") {
  SummaryCollector collector;
  for (const auto& [run, replicas, accuracy] :
       {std::tuple("baseline", 1, 0.976), std::tuple("distributed", 2, 0.974)}) {
    collector.on_event(run_start(run, replicas));
    collector.on_event(eval_of("validation", run, 2, 0.05, 0.99));
    CHECK(collector.of(run).part == "validation");
    collector.on_event(eval_of("test", run, 2, 0.0715, accuracy));
    collector.on_event(split_run_end(run, accuracy));
    CHECK(collector.of(run).part == "test");
  }
  const ComparisonEvent event = compare_runs(collector.of("baseline"), collector.of("distributed"));
  const Event json = encode(event);
  CHECK(json["distributed"]["part"] == "test");
  CHECK(json["distributed"]["accuracy"] == 0.974);
  CHECK(json["distributed"]["validation"] == Event({{"loss", 0.05}, {"accuracy", 0.99}}));
  CHECK_THAT(event.verdict.value(), ContainsSubstring("the test accuracy is the same within 0.2 points"));
  const std::string table = comparison_table(event);
  INFO(table);
  for (const char* row : {"validation loss", "validation accuracy", "test loss", "test accuracy"})
    CHECK_THAT(table, ContainsSubstring(std::string("\n") + row));
  CHECK_THAT(table, !ContainsSubstring("evaluation"));
}

TEST_CASE("the table shows what is missing as dashes, and a fallback dataset") {
  RunSummary right;
  right.dataset = "fashion_mnist";
  right.dataset_requested = "mnist";
  const std::string table = comparison_table(compare_runs(RunSummary(), right));
  CHECK_THAT(table, ContainsSubstring("(NOTE: a fallback; mnist was not found)"));
  CHECK_THAT(table, ContainsSubstring("speedup"));
  CHECK(table.find("nan") == std::string::npos);
  RunSummary diverged = distributed();
  loss_of(diverged) = std::nan("");
  CHECK_THAT(comparison_table(compare_runs(baseline(), diverged)),
             ContainsSubstring("test loss                       0.0700          nan       -\n"));
}

TEST_CASE("verdict: faster and as good") {
  RunSummary right = distributed();
  accuracy_of(right) = 0.976;
  CHECK(verdict_of(baseline(), right) ==
        "2 replicas train 1.80 x as many examples per second as one device (90 % scaling efficiency), and "
        "the accuracy "
        "is the same within 0.2 points.");
}

TEST_CASE("verdict: faster but worse, faster and better") {
  RunSummary right = distributed();
  accuracy_of(right) = 0.958;
  CHECK_THAT(verdict_of(baseline(), right),
             ContainsSubstring(", but the accuracy is 2.0 points lower (95.80 % against 97.80 %)."));
  accuracy_of(right) = 0.998;
  CHECK_THAT(verdict_of(baseline(), right), ContainsSubstring(", and the accuracy is 2.0 points higher"));
}

TEST_CASE("verdict: with a validation part, of the test") {
  RunSummary left = baseline(), right = distributed();
  left.part = right.part = "test";
  accuracy_of(right) = 0.958;
  CHECK_THAT(verdict_of(left, right), ContainsSubstring(", but the test accuracy is 2.0 points lower"));
  loss_of(right) = std::nan("");
  CHECK_THAT(verdict_of(left, right), ContainsSubstring("the distributed run's test loss is not a finite"));
}

TEST_CASE("verdict: slower, or no difference") {
  CHECK(verdict_of(baseline(), distributed(20000)) ==
        "Distributing did not pay here: 2 replicas train 0.50 x as many examples per second as one device "
        "(25 % scaling "
        "efficiency), and the accuracy is the same within 0.1 points.");
  CHECK_THAT(verdict_of(baseline(), distributed(40800)),
             ContainsSubstring("Distributing made no difference here: 2 replicas train 1.02 x"));
  RunSummary better = distributed(20000);
  accuracy_of(better) = 0.998;
  CHECK_THAT(verdict_of(baseline(), better), ContainsSubstring(", but the accuracy is 2.0 points higher"));
}

TEST_CASE("verdict: models that were trained differently after a resume are not compared") {
  RunSummary left = baseline(), right = distributed();
  left.steps = 3000;  // train.max_steps binds one of them, as they have other batches
  right.steps = 2345;
  CHECK_THAT(verdict_of(left, right), ContainsSubstring(", and the accuracy is the same"));
  const std::string without = "; the models do not compare, as the distributed run was resumed with another ";
  const auto verdict_after = [&](const char* field, const Event& value) {
    SummaryCollector collector;
    Event start = run_start("distributed", 2);
    collector.on_event(start);
    start["resumed_step"] = 469;
    start[field] = value;
    for (int i = 0; i < 2; ++i) collector.on_event(start);  // it was resumed again, as it had become
    collector.on_event(run_end("distributed"));
    return verdict_of(left, collector.of("distributed"));
  };
  CHECK_THAT(verdict_after("seed", 42), ContainsSubstring("the accuracy is the same"));
  CHECK_THAT(verdict_after("total_steps", 1000),  // in as many epochs
             ContainsSubstring(without + "number of steps.") && !ContainsSubstring("accuracy"));
  CHECK_THAT(verdict_after("learning_rate_derivation", "0.1"), ContainsSubstring(without + "learning rate."));
}

TEST_CASE("verdict: the overhead and different batches are part of it") {
  RunSummary right = distributed();
  right.global_batch = 256;
  CHECK_THAT(
      compare_runs(baseline(), right, RelativeCost{0.05, 0.01}).verdict.value(),
      ContainsSubstring("; the strategy's overhead at equal replicas is 5.0 % +- 1.0; the global batches "
                        "differ (128 and 256)."));
}

TEST_CASE("verdict: an overhead within the noise of its measurement is neither a cost nor a gain") {
  for (const double value : {-0.03, 0.0, 0.03}) {
    CHECK_THAT(compare_runs(baseline(), distributed(), RelativeCost{value, 0.04}).verdict.value(),
               ContainsSubstring("overhead at equal replicas is lost in the noise of its measurement (") &&
                   ContainsSubstring(" % +- 4.0)"));
  }
  CHECK_THAT(compare_runs(baseline(), distributed(), RelativeCost{-0.03, 0.01}).verdict.value(),
             ContainsSubstring("overhead at equal replicas is -3.0 % +- 1.0"));
}

TEST_CASE("verdict: equal replicas") {
  RunSummary right = distributed(38000);
  right.replicas = 1;
  CHECK_THAT(verdict_of(baseline(), right),
             ContainsSubstring(
                 "At equal replicas, mirrored trains 0.95 x as many examples per second as one device"));
}

TEST_CASE("verdict: another baseline than one device is named") {
  RunSummary left = baseline();
  left.strategy = "central_storage";
  CHECK_THAT(verdict_of(left, distributed()), ContainsSubstring("as the baseline (central_storage)"));
}

TEST_CASE("verdict: runs that did not complete, the baseline first") {
  RunSummary left = baseline();
  RunSummary right = distributed();
  right.status = "stopped";
  CHECK(verdict_of(left, right) == "No verdict: the distributed run was stopped.");
  left.status = "failed";
  CHECK(verdict_of(left, right) == "No verdict: the baseline run failed.");
  CHECK(verdict_of(RunSummary(), right) == "No verdict: the baseline run did not finish.");
}

TEST_CASE("verdict: without accuracy, without evaluation, diverged") {
  RunSummary left = baseline();
  RunSummary right = distributed();
  left.metrics.pop_back();
  CHECK_THAT(verdict_of(left, right), ContainsSubstring("; the test loss is 0.0700 against 0.0700."));
  left.metrics.clear();
  CHECK_THAT(verdict_of(left, right), ContainsSubstring("; the models were not both evaluated."));
  loss_of(right) = std::nan("");
  CHECK_THAT(verdict_of(baseline(), right),
             ContainsSubstring(", but the distributed run's test loss is not a finite"));
  left.metrics = {{"loss", INFINITY}};
  CHECK_THAT(verdict_of(left, distributed()),
             ContainsSubstring(", but the baseline's test loss is not a finite"));
}
