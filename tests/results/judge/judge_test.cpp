// Golden values are scikit-learn's and SciPy's (scripts/bench/judge.py computes more of them).
#include <ATen/ATen.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "catch.h"
#include "core/error.h"
#include "core/files.h"
#include "example_results.h"
#include "files.h"
#include "judge/chance.h"
#include "judge/intervals.h"
#include "safetensors/safetensors.h"
#include "sanitized.h"

namespace dtrain {
namespace {

const std::vector<double> kScores = {0.125, 0.25, 0.25, 0.375, 0.5, 0.5, 0.625, 0.75, 0.75, 0.875, 0.9375, 1};
const std::vector<int64_t> kIsYes = {0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1};

at::Tensor scores() { return at::tensor(kScores, at::kDouble); }
at::Tensor is_yes() { return at::tensor(kIsYes, at::kLong) > 0; }

// Of `count` examples of three classes: those with i % 4 == 0 are taken for the next class, unless `better`.
ExampleResults some_results(int64_t count, bool better = false) {
  std::vector<float> losses, targets, outputs;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % 3, said = i % 4 == 0 && !better ? (label + 1) % 3 : label;
    targets.push_back(static_cast<float>(label));
    losses.push_back(said == label ? 0.25F : 1.5F);
    for (int64_t output = 0; output < 3; ++output) outputs.push_back(output == said ? 2.0F : 0.5F);
  }
  ExampleResults results = example_results("cross_entropy", losses, targets, outputs);
  results.examples = "these";
  return results;
}

MetricValues metrics_of(const ExampleResults& results) { return draws_of(results).front(); }

double value_of(const NamedIntervals& all, const std::string& metric, double MetricInterval::*member) {
  for (const MetricInterval& one : all) {
    if (one.name == metric) return one.*member;
  }
  return std::nan("");
}

TEST_CASE("a curve of thresholds is scikit-learn's, with equal scores in one point") {
  const ThresholdCurve curve = threshold_curve(scores(), is_yes());
  const std::vector<double> alarms = {0, 1, 1, 2, 2, 3, 4, 5, 6}, found = {1, 1, 2, 3, 4, 5, 5, 6, 6};
  const std::vector<double> precisions = {1, 0.5, 2.0 / 3, 0.6, 2.0 / 3, 0.625, 5.0 / 9, 6.0 / 11, 0.5};
  CHECK(at::allclose(curve.false_alarms, at::tensor(alarms, at::kDouble) / 6));
  CHECK(at::allclose(curve.recall, at::tensor(found, at::kDouble) / 6));
  CHECK(at::allclose(curve.precision, at::tensor(precisions, at::kDouble)));
  CHECK(curve.yes == 6);
  CHECK(curve.area == Approx(0.6805555555555556));
  CHECK(curve.average_precision == Approx(0.6839646464646464));
  CHECK(curve.best_threshold == 0.5);  // 5 of 6 with a precision of 0.625
  CHECK(curve.best_f1 == Approx(2 * 5.0 / (8 + 6)));
  CHECK_FALSE(threshold_curve(scores(), at::ones({12}, at::kBool)).recall.defined());
}

TEST_CASE("calibration has scikit-learn's bins") {
  const Calibration found = calibration(scores(), is_yes());
  const std::vector<double> means = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.96875};
  const std::vector<double> shares = {0, 0.5, 0, 0.5, 1, 0.5, 1, 0.5};
  REQUIRE(found.probability.numel() == std::ssize(means));
  CHECK(at::allclose(found.probability, at::tensor(means, at::kDouble)));
  CHECK(at::allclose(found.share, at::tensor(shares, at::kDouble)));
  CHECK(found.error == Approx(0.24479166666666666));
}

TEST_CASE("McNemar's test is the exact binomial one") {
  CHECK(mcnemar(3, 9) == Approx(0.14599609375));
  CHECK(mcnemar(5, 0) == Approx(0.0625));
  CHECK(mcnemar(210, 165) == Approx(0.02295027298522436));
  CHECK(mcnemar(10, 10) == 1);
  CHECK(mcnemar(0, 0) == 1);
}

TEST_CASE("the metrics of classes, of numbers and of answers are those of their definitions") {
  const MetricValues of_classes = metrics_of(some_results(24));
  CHECK(find_metric(of_classes, "accuracy").value() == 0.75);
  CHECK(find_metric(of_classes, "loss").value() == Approx(0.75 * 0.25 + 0.25 * 1.5));
  CHECK(find_metric(of_classes, "macro_recall").value() == Approx(0.75));
  const MetricValues of_numbers =
      metrics_of(example_results("mean_squared_error", {1, 4, 0, 1}, {1, 2, 3, 4}, {2, 4, 3, 3}));
  CHECK(find_metric(of_numbers, "rmse").value() == Approx(std::sqrt(6.0 / 4)));
  CHECK(find_metric(of_numbers, "mae").value() == Approx(1));
  CHECK(find_metric(of_numbers, "r2").value() == Approx(1 - 6.0 / 5));
  const ExampleResults answers{.loss = "binary_cross_entropy",
                               .losses = at::ones({12}),
                               .targets = is_yes().unsqueeze(1).to(at::kFloat),
                               .outputs = (scores() - 0.55).unsqueeze(1).to(at::kFloat)};
  const MetricValues of_answers = metrics_of(answers);
  CHECK(find_metric(of_answers, "auc").value() == Approx(0.6805555555555556));
  CHECK(find_metric(of_answers, "accuracy").value() == Approx(8.0 / 12));
  CHECK(find_metric(of_answers, "precision").value() == Approx(4.0 / 6));
  CHECK(answers.probabilities()[11].item<double>() == Approx(1 / (1 + std::exp(-0.45))));
}

TEST_CASE("six classes have a top-5 accuracy, of which an example with five larger outputs has no part") {
  const ExampleResults results =
      example_results("cross_entropy", {1, 1}, {0, 1}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(find_metric(metrics_of(results), "top_5_accuracy").value() == 0.5);
}

TEST_CASE("an interval has the width of the metric's standard error") {
  const NamedIntervals intervals = intervals_of(some_results(1200));
  CHECK(value_of(intervals, "accuracy", &MetricInterval::value) == 0.75);
  const double half = 1.96 * std::sqrt(0.75 * 0.25 / 1200);
  CHECK(value_of(intervals, "accuracy", &MetricInterval::low) == Approx(0.75 - half).margin(0.003));
  CHECK(value_of(intervals, "accuracy", &MetricInterval::high) == Approx(0.75 + half).margin(0.003));
  const double loss_half = half * 1.25;  // two values of the loss, 1.25 apart
  CHECK(value_of(intervals, "loss", &MetricInterval::low) == Approx(0.5625 - loss_half).margin(0.004));
  const NamedIntervals again = intervals_of(some_results(1200));
  CHECK(value_of(again, "loss", &MetricInterval::high) == value_of(intervals, "loss", &MetricInterval::high));
}

TEST_CASE("the results of examples are read as they were written, and damage is told") {
  const TemporaryFolder folder;
  const auto file = folder.path() / kExamplesFile;
  CHECK_FALSE(read_examples(file));
  const ExampleResults results = some_results(7);
  write_examples(file, results);
  const ExampleResults read = read_examples(file).value();
  CHECK(read.loss == "cross_entropy");
  CHECK(read.examples == "these");
  CHECK(at::equal(read.losses, results.losses));
  CHECK(at::equal(read.targets, results.targets));
  CHECK(at::equal(read.outputs, results.outputs));
  ExampleResults other_class = some_results(7);
  other_class.targets[3] = 3;
  write_examples(file, other_class);
  CHECK_THROWS_WITH(read_examples(file), ContainsSubstring("a target is no class of the model"));
  std::ofstream(file) << "nothing";
  CHECK_THROWS_WITH(read_examples(file), ContainsSubstring("remove it"));
}

TEST_CASE("what may come from anywhere is refused where it cannot be computed with") {
  const TemporaryFolder folder;
  const auto file = folder.path() / kExamplesFile;
  const auto problem_of = [&](const auto& change) -> std::string {
    ExampleResults results = some_results(7);
    change(results);
    write_examples(file, results);
    try {
      read_examples(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const float infinity = std::numeric_limits<float>::infinity(), none = std::nanf("");
  CHECK_THAT(problem_of([&](auto& results) { results.outputs[1][1] = none; }),
             ContainsSubstring("not numbers"));
  CHECK_THAT(problem_of([&](auto& results) { results.losses[4] = none; }), ContainsSubstring("not numbers"));
  CHECK_THAT(problem_of([&](auto& results) { results.outputs[1][1] = infinity; }),
             ContainsSubstring("infinite"));
  CHECK(problem_of([&](auto& results) { results.outputs[1][1] = -infinity; }).empty());  // a masked class
  CHECK_THAT(problem_of([&](auto& results) { results.outputs[1].fill_(-infinity); }),
             ContainsSubstring("infinite"));
  CHECK_THAT(problem_of([](auto& results) { results.part = "<b>test"; }), ContainsSubstring("known part"));
  CHECK_THAT(problem_of([](auto& results) { results.loss = "guess"; }), ContainsSubstring("known loss"));
  ExampleResults unsound = some_results(7);
  unsound.outputs[1][1] = none;
  CHECK(intervals_of(unsound).empty());

  const Metadata metadata = {{"loss", "cross_entropy"}, {"part", "test"}, {"examples", ""}};
  const auto write = [&](at::IntArrayRef losses, at::IntArrayRef targets, at::IntArrayRef outputs) {
    std::filesystem::remove(file);
    write_safetensors(
        file, {{"loss", at::zeros(losses)}, {"target", at::zeros(targets)}, {"output", at::zeros(outputs)}},
        metadata);
  };
  const auto is_refused = ContainsSubstring("do not fit together");
  write({16}, {16, 1}, {0, int64_t{1} << 60});  // 16 * 2^60 is 0 in 64 bits
  CHECK_THROWS_WITH(read_examples(file), is_refused);
  write({16}, {16}, {16, 2});
  CHECK_THROWS_WITH(read_examples(file), is_refused);
  write({16}, {16, 1}, {4, 8});
  CHECK_THROWS_WITH(read_examples(file), is_refused);
  write({0}, {0, 1}, {0, 2});
  CHECK_THROWS_WITH(read_examples(file), is_refused);
  write({1}, {1, 1}, {1, kMostKeptNumbers});  // the draws would have four counts for each of these classes
  CHECK_THROWS_WITH(read_examples(file), ContainsSubstring("too large"));
}

TEST_CASE("draws have a bound, and where too few fit into it there are no intervals") {
  const auto classes = [](int64_t outputs) -> ExampleResults {
    return {.loss = "cross_entropy",
            .losses = at::ones({4}),
            .targets = at::arange(4, at::kFloat).unsqueeze(1),
            .outputs = at::zeros({4, outputs})};
  };
  CHECK(draws_of(classes(1000)).size() == kMostResamples + 1);
  CHECK(draws_of(classes(1000), 100'000).size() == 1);  // the metrics of all alone
  CHECK(draws_of(classes(400'000)).size() == 1);
  CHECK(intervals_of(classes(400'000)).empty());
}

TEST_CASE("an area under the curve is exact for many outputs too, and inside its interval") {
  constexpr int64_t kOutputs = few_if_sanitized(1000, 100), kExamples = 100;
  std::vector<float> targets, outputs;
  double areas = 0;
  for (int64_t example = 0; example < kExamples; ++example) {
    for (int64_t output = 0; output < kOutputs; ++output) {
      const bool yes = (example * 7 + output) % 3 == 0;
      targets.push_back(yes ? 1 : 0);
      outputs.push_back(static_cast<float>((example * 37 + output * 11) % 101) / 101 + (yes ? 0.05F : 0));
    }
  }
  for (int64_t output = 0; output < kOutputs; ++output) {
    double pairs = 0, right = 0;
    for (int64_t one = 0; one < kExamples; ++one) {
      for (int64_t two = 0; two < kExamples; ++two) {
        const auto at = static_cast<size_t>(one * kOutputs + output);
        const auto other = static_cast<size_t>(two * kOutputs + output);
        if (targets[at] < 0.5F || targets[other] > 0.5F) continue;
        pairs += 1;
        if (outputs[at] == outputs[other]) right += 0.5;
        if (outputs[at] > outputs[other]) right += 1;
      }
    }
    areas += right / pairs;
  }
  const NamedIntervals intervals = intervals_of(
      example_results("binary_cross_entropy", std::vector<float>(kExamples, 1), targets, outputs));
  CHECK(value_of(intervals, "auc", &MetricInterval::value) == Approx(areas / kOutputs).epsilon(1e-9));
  CHECK(value_of(intervals, "auc", &MetricInterval::low) < areas / kOutputs);
  CHECK(value_of(intervals, "auc", &MetricInterval::high) > areas / kOutputs);
}

TEST_CASE("a metric that is not finite, or not in most draws, has no interval") {
  ExampleResults results = some_results(50);
  results.losses[0] = std::numeric_limits<float>::infinity();
  CHECK(std::isnan(value_of(intervals_of(results), "loss", &MetricInterval::value)));
  CHECK(value_of(intervals_of(results), "accuracy", &MetricInterval::value) > 0);
  // One yes among 20: a third of the draws has none of it, and no area.
  std::vector<float> yes(20), outputs;
  yes[7] = 1;
  for (int i = 0; i < 20; ++i) outputs.push_back(static_cast<float>(i - 10));
  const ExampleResults answers =
      example_results("binary_cross_entropy", std::vector<float>(20, 1), yes, outputs);
  CHECK(std::isnan(value_of(intervals_of(answers), "auc", &MetricInterval::value)));
}

// Runs whose folders have such results, and whose specs those losses.
struct SomeRuns {
  TemporaryFolder folder = {};
  std::vector<FinishedRun> runs = {};

  FinishedRun& add(const std::optional<ExampleResults>& results, const LossSpec& loss = {}) {
    FinishedRun& run = runs.emplace_back();
    run.path = (folder.path() / std::to_string(runs.size())).string();
    run.spec.train.loss = loss;
    std::filesystem::create_directory(run.path);
    if (results) write_examples(std::filesystem::path(run.path) / kExamplesFile, *results);
    return run;
  }
};

TEST_CASE("the loss is compared with the same loss alone") {
  SomeRuns some;
  const ExampleResults numbers = example_results("huber", {1, 2, 3}, {1, 2, 3}, {2, 4, 1});
  const auto huber = [](double delta) { return LossSpec{.kind = "huber", .own = HuberFields{delta}}; };
  for (const double delta : {1.0, 5.0, 1.0}) some.add(numbers, huber(delta));
  some.runs[2].spec.train.label_smoothing = 0.1;  // of no evaluation
  const auto differences = differences_of(some.runs);
  CHECK(std::isnan(value_of(differences[0].differences, "loss", &MetricInterval::value)));
  CHECK(value_of(differences[0].differences, "rmse", &MetricInterval::value) == 0);
  CHECK(value_of(differences[1].differences, "loss", &MetricInterval::value) == 0);
}

TEST_CASE("two runs are compared pair by pair, or it is said why not") {
  ExampleResults others = some_results(400);
  others.examples = "those";
  ExampleResults validation = some_results(400);
  validation.part = "validation";
  SomeRuns some;
  some.add(some_results(400));
  some.add(some_results(400, /*better=*/true));
  some.add(some_results(400));
  some.add(others);
  some.add(std::nullopt);
  some.add(validation);
  some.add(some_results(300));
  const std::vector<RunDifference> differences = differences_of(some.runs);
  REQUIRE(differences.size() == 6);
  CHECK(differences[0].only_first == 0);
  CHECK(differences[0].only_this == 100);
  CHECK(value_of(differences[0].differences, "accuracy", &MetricInterval::value) == 0.25);
  CHECK(value_of(differences[0].differences, "loss", &MetricInterval::high) < 0);
  for (const MetricInterval& one : differences[0].differences) CHECK(differences[0].is_more_than_chance(one));
  for (const MetricInterval& one : differences[1].differences)
    CHECK_FALSE(differences[1].is_more_than_chance(one));
  CHECK_THAT(differences[2].why_not, ContainsSubstring("not those of A"));
  for (const char* reason : {"keeps no results of its examples", "has not ended", "a plug-in's"})
    CHECK_THAT(differences[3].why_not, ContainsSubstring(reason));
  CHECK_THAT(differences[4].why_not,
             ContainsSubstring("A was evaluated on test examples, F on validation examples"));
  CHECK_THAT(differences[5].why_not, ContainsSubstring("A was evaluated on 400 examples, G on 300"));
  const std::string text = chance_text(differences);
  CHECK_THAT(text, ContainsSubstring("more than chance; only A is right on 0, only B on 100"));
  CHECK_THAT(text, ContainsSubstring("E cannot be compared: "));
  CHECK(chance_document(differences)[0]["differences"]["accuracy"]["more_than_chance"] == true);
}

TEST_CASE("many runs share the time of the draws, and the first one has no more than they") {
  SomeRuns some;
  some.add(some_results(20'000));
  if (!kSanitized) {  // as many draws as are allowed; the cases above make fewer
    some.runs.resize(3, some.runs.front());
    CHECK_FALSE(differences_of(some.runs).back().differences.empty());
  }
  some.runs.resize(120, some.runs.front());
  const std::vector<RunDifference> differences = differences_of(some.runs);
  CHECK(differences.back().differences.empty());
  CHECK(differences.back().is_tested);  // which needs no draws
  CHECK_THAT(chance_notes(differences).back(), ContainsSubstring("compare fewer"));
}

}  // namespace
}  // namespace dtrain
