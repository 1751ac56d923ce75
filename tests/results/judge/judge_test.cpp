// Golden values are scikit-learn's and SciPy's (scripts/bench/judge.py computes more of them).
#include <ATen/ATen.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "catch.h"
#include "core/error.h"
#include "core/files.h"
#include "files.h"
#include "judge/chance.h"
#include "judge/curves.h"
#include "judge/intervals.h"
#include "safetensors/safetensors.h"

namespace dtrain {
namespace {

const std::vector<double> kScores = {0.125, 0.25, 0.25, 0.375, 0.5, 0.5, 0.625, 0.75, 0.75, 0.875, 0.9375, 1};
const std::vector<bool> kIsYes = {false, false, true, false, false, true,
                                  true,  false, true, true,  false, true};

// Of `count` examples of three classes: those with i % 4 == 0 are taken for the next class, unless `better`.
ExampleResults some_results(int64_t count, bool better = false) {
  ExampleResults results{
      .loss = "cross_entropy", .part = "test", .examples = "these", .targets = 1, .outputs = 3};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % 3, said = i % 4 == 0 && !better ? (label + 1) % 3 : label;
    results.wanted.push_back(static_cast<float>(label));
    results.losses.push_back(said == label ? 0.25F : 1.5F);
    for (int64_t output = 0; output < 3; ++output) results.given.push_back(output == said ? 2.0F : 0.5F);
  }
  return results;
}

double value_of(const std::vector<MetricInterval>& all, const std::string& metric,
                double MetricInterval::*member) {
  for (const MetricInterval& one : all) {
    if (one.metric == metric) return one.*member;
  }
  return std::nan("");
}

TEST_CASE("a curve of thresholds is scikit-learn's, with equal scores in one point") {
  const ThresholdCurve curve = threshold_curve(kScores, kIsYes);
  REQUIRE(curve.points.size() == 9);
  const std::vector<double> alarms = {0, 1, 1, 2, 2, 3, 4, 5, 6}, found = {1, 1, 2, 3, 4, 5, 5, 6, 6};
  const std::vector<double> precisions = {1, 0.5, 2.0 / 3, 0.6, 2.0 / 3, 0.625, 5.0 / 9, 6.0 / 11, 0.5};
  for (size_t i = 0; i < 9; ++i) {
    CHECK(curve.points[i].false_alarms == Approx(alarms[i] / 6));
    CHECK(curve.points[i].recall == Approx(found[i] / 6));
    CHECK(curve.points[i].precision == Approx(precisions[i]));
  }
  CHECK(curve.points.front().threshold == 1);
  CHECK(curve.area == Approx(0.6805555555555556));
  CHECK(curve.average_precision == Approx(0.6839646464646464));
  CHECK(curve.best_threshold == 0.5);  // 5 of 6 with a precision of 0.625
  CHECK(curve.best_f1 == Approx(2 * 5.0 / (8 + 6)));
  CHECK(threshold_curve({kScores.data(), 1}, {true}).points.empty());
}

TEST_CASE("calibration has scikit-learn's bins") {
  const auto& [bins, error] = calibration(kScores, kIsYes);
  const std::vector<double> means = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.96875};
  const std::vector<double> shares = {0, 0.5, 0, 0.5, 1, 0.5, 1, 0.5};
  REQUIRE(bins.size() == means.size());
  for (size_t i = 0; i < bins.size(); ++i) {
    CHECK(bins[i].probability == Approx(means[i]));
    CHECK(bins[i].share == Approx(shares[i]));
  }
  CHECK(error == Approx(0.24479166666666666));
}

TEST_CASE("McNemar's test is the exact binomial one") {
  CHECK(mcnemar(3, 9) == Approx(0.14599609375));
  CHECK(mcnemar(5, 0) == Approx(0.0625));
  CHECK(mcnemar(210, 165) == Approx(0.02295027298522436));
  CHECK(mcnemar(10, 10) == 1);
  CHECK(mcnemar(0, 0) == 1);
}

TEST_CASE("metrics of weighted examples are those of a longer list") {
  const ExampleResults results = some_results(24);
  const ExampleMetrics metrics(results);
  const MetricValues all = metrics.values();
  CHECK(find_metric(all, "accuracy").value() == 0.75);
  CHECK(find_metric(all, "loss").value() == Approx(0.75 * 0.25 + 0.25 * 1.5));
  CHECK(find_metric(all, "macro_recall").value() == Approx(0.75));
  std::vector<uint32_t> times(24);
  times[0] = 3, times[1] = 1;  // one that is wrong, one that is right
  CHECK(find_metric(metrics.values(times), "accuracy").value() == 0.25);
  CHECK(find_metric(metrics.values(times), "loss").value() == Approx((3 * 1.5 + 0.25) / 4));
}

TEST_CASE("the metrics of numbers and of answers are those of their definitions") {
  const ExampleResults numbers{.loss = "mean_squared_error",
                               .targets = 1,
                               .outputs = 1,
                               .losses = {1, 4, 0, 1},
                               .wanted = {1, 2, 3, 4},
                               .given = {2, 4, 3, 3}};
  const MetricValues of_numbers = ExampleMetrics(numbers).values();
  CHECK(find_metric(of_numbers, "rmse").value() == Approx(std::sqrt(6.0 / 4)));
  CHECK(find_metric(of_numbers, "mae").value() == Approx(1));
  CHECK(find_metric(of_numbers, "r2").value() == Approx(1 - 6.0 / 5));
  ExampleResults answers{.loss = "binary_cross_entropy", .targets = 1, .outputs = 1};
  for (size_t i = 0; i < kScores.size(); ++i) {
    answers.losses.push_back(1);
    answers.wanted.push_back(kIsYes[i] ? 1 : 0);
    answers.given.push_back(static_cast<float>(kScores[i] - 0.55));
  }
  const MetricValues of_answers = ExampleMetrics(answers).values();
  CHECK(find_metric(of_answers, "auc").value() == Approx(0.6805555555555556));
  CHECK(find_metric(of_answers, "accuracy").value() == Approx(8.0 / 12));
  CHECK(find_metric(of_answers, "precision").value() == Approx(4.0 / 6));
  CHECK(answers.probabilities().back() == Approx(1 / (1 + std::exp(-0.45))));
}

TEST_CASE("an interval has the width of the metric's standard error") {
  const std::vector<MetricInterval> intervals = bootstrap(ExampleMetrics(some_results(1200)));
  CHECK(value_of(intervals, "accuracy", &MetricInterval::value) == 0.75);
  const double half = 1.96 * std::sqrt(0.75 * 0.25 / 1200);
  CHECK(value_of(intervals, "accuracy", &MetricInterval::low) == Approx(0.75 - half).margin(0.003));
  CHECK(value_of(intervals, "accuracy", &MetricInterval::high) == Approx(0.75 + half).margin(0.003));
  const double loss_half = half * 1.25;  // two values of the loss, 1.25 apart
  CHECK(value_of(intervals, "loss", &MetricInterval::low) == Approx(0.5625 - loss_half).margin(0.004));
  const std::vector<MetricInterval> again = bootstrap(ExampleMetrics(some_results(1200)));
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
  CHECK(read.losses == results.losses);
  CHECK(read.wanted == results.wanted);
  CHECK(read.given == results.given);
  ExampleResults other_class = results;
  other_class.wanted[3] = 3;
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
  CHECK_THAT(problem_of([&](auto& results) { results.given[4] = none; }), ContainsSubstring("not numbers"));
  CHECK_THAT(problem_of([&](auto& results) { results.losses[4] = none; }), ContainsSubstring("not numbers"));
  CHECK_THAT(problem_of([&](auto& results) { results.given[4] = infinity; }), ContainsSubstring("infinite"));
  CHECK(problem_of([&](auto& results) { results.given[4] = -infinity; }).empty());  // a masked class
  CHECK_THAT(
      problem_of([&](auto& results) { results.given[3] = results.given[4] = results.given[5] = -infinity; }),
      ContainsSubstring("infinite"));
  CHECK_THAT(problem_of([](auto& results) { results.part = "<b>test"; }), ContainsSubstring("known part"));
  CHECK_THAT(problem_of([](auto& results) { results.loss = "guess"; }), ContainsSubstring("known loss"));
  ExampleResults unsound = some_results(7);
  unsound.given[4] = none;
  CHECK(named_intervals(unsound).empty());

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
  const auto classes = [](int64_t outputs) {
    ExampleResults results{.loss = "cross_entropy", .outputs = outputs};
    results.losses.assign(4, 1);
    results.wanted = {0, 1, 2, 3};
    results.given.assign(static_cast<size_t>(4 * outputs), 0);
    return results;
  };
  CHECK(draws_of(ExampleMetrics(classes(1000))).size() == kMostResamples + 1);
  CHECK(draws_of(ExampleMetrics(classes(400'000))).empty());
  CHECK(named_intervals(classes(400'000)).empty());
}

TEST_CASE("an area under the curve is exact for many outputs too, and inside its interval") {
  constexpr int64_t kOutputs = 1000, kExamples = 100;
  ExampleResults results{.loss = "binary_cross_entropy", .targets = kOutputs, .outputs = kOutputs};
  results.losses.assign(kExamples, 1);
  double areas = 0;
  for (int64_t example = 0; example < kExamples; ++example) {
    for (int64_t output = 0; output < kOutputs; ++output) {
      const bool yes = (example * 7 + output) % 3 == 0;
      results.wanted.push_back(yes ? 1 : 0);
      results.given.push_back(static_cast<float>((example * 37 + output * 11) % 101) / 101 +
                              (yes ? 0.05F : 0));
    }
  }
  for (int64_t output = 0; output < kOutputs; ++output) {
    double pairs = 0, right = 0;
    for (int64_t one = 0; one < kExamples; ++one) {
      for (int64_t two = 0; two < kExamples; ++two) {
        const auto at = static_cast<size_t>(one * kOutputs + output);
        const auto other = static_cast<size_t>(two * kOutputs + output);
        if (results.wanted[at] < 0.5F || results.wanted[other] > 0.5F) continue;
        pairs += 1;
        if (results.given[at] == results.given[other]) right += 0.5;
        if (results.given[at] > results.given[other]) right += 1;
      }
    }
    areas += right / pairs;
  }
  const std::vector<MetricInterval> intervals = bootstrap(ExampleMetrics(results));
  CHECK(value_of(intervals, "auc", &MetricInterval::value) == Approx(areas / kOutputs).epsilon(1e-9));
  CHECK(value_of(intervals, "auc", &MetricInterval::low) < areas / kOutputs);
  CHECK(value_of(intervals, "auc", &MetricInterval::high) > areas / kOutputs);
}

TEST_CASE("a metric that is not finite, or not in most draws, has no interval") {
  ExampleResults results = some_results(50);
  results.losses[0] = std::numeric_limits<float>::infinity();
  CHECK(std::isnan(value_of(bootstrap(ExampleMetrics(results)), "loss", &MetricInterval::value)));
  CHECK(value_of(bootstrap(ExampleMetrics(results)), "accuracy", &MetricInterval::value) > 0);
  // One yes among 20: a third of the draws has none of it, and no area.
  ExampleResults answers{.loss = "binary_cross_entropy", .targets = 1, .outputs = 1};
  for (int i = 0; i < 20; ++i) {
    answers.losses.push_back(1);
    answers.wanted.push_back(i == 7 ? 1 : 0);
    answers.given.push_back(static_cast<float>(i - 10));
  }
  CHECK(std::isnan(value_of(bootstrap(ExampleMetrics(answers)), "auc", &MetricInterval::value)));
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
  ExampleResults numbers{.loss = "huber", .losses = {1, 2, 3}, .wanted = {1, 2, 3}, .given = {2, 4, 1}};
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
  CHECK_THAT(differences[3].why_not, ContainsSubstring("keeps no results of its examples"));
  CHECK_THAT(differences[4].why_not,
             ContainsSubstring("A was evaluated on test examples, F on validation examples"));
  CHECK_THAT(differences[5].why_not, ContainsSubstring("A was evaluated on 400 examples, G on 300"));
  const std::string text = chance_text(differences);
  CHECK_THAT(text, ContainsSubstring("more than chance; only A is right on 0, only B on 100"));
  CHECK_THAT(text, ContainsSubstring("E cannot be compared: "));
  CHECK(chance_document(differences)[0]["differences"]["accuracy"]["more_than_chance"] == true);
}

}  // namespace
}  // namespace dtrain
