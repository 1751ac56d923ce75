// Golden values are scikit-learn's and SciPy's (scripts/bench/judge.py computes more of them).
#include <cmath>
#include <fstream>

#include "catch.h"
#include "core/error.h"
#include "core/files.h"
#include "files.h"
#include "judge/chance.h"
#include "judge/curves.h"
#include "judge/intervals.h"

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
    CHECK(curve.false_alarms(curve.points[i]) == Approx(alarms[i] / 6));
    CHECK(curve.recall(curve.points[i]) == Approx(found[i] / 6));
    CHECK(curve.precision(curve.points[i]) == Approx(precisions[i]));
  }
  CHECK(curve.points.front().threshold == 1);
  CHECK(curve.area() == Approx(0.6805555555555556));
  CHECK(curve.average_precision() == Approx(0.6839646464646464));
  CHECK(curve.best_f1().threshold == 0.5);  // 5 of 6 with a precision of 0.625
  CHECK(std::isnan(threshold_curve({kScores.data(), 1}, {true}).area()));
}

TEST_CASE("calibration has scikit-learn's bins") {
  const std::vector<CalibrationBin> bins = calibration(kScores, kIsYes);
  const std::vector<double> means = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.96875};
  const std::vector<double> shares = {0, 0.5, 0, 0.5, 1, 0.5, 1, 0.5};
  REQUIRE(bins.size() == means.size());
  for (size_t i = 0; i < bins.size(); ++i) {
    CHECK(bins[i].probability == Approx(means[i]));
    CHECK(bins[i].share == Approx(shares[i]));
  }
  CHECK(calibration_error(bins) == Approx(0.24479166666666666));
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
  CHECK_THROWS_WITH(read_examples(file), ContainsSubstring("classes that the model has not"));
  std::ofstream(file) << "nothing";
  CHECK_THROWS_WITH(read_examples(file), ContainsSubstring("remove it"));
}

TEST_CASE("two runs are compared pair by pair, or it is said why not") {
  const TemporaryFolder folder;
  std::vector<std::string> runs;
  for (const char* name : {"a", "b", "same", "others", "none"}) {
    runs.push_back((folder.path() / name).string());
    std::filesystem::create_directory(runs.back());
  }
  const auto write = [&](size_t run, const ExampleResults& results) {
    write_examples(std::filesystem::path(runs[run]) / kExamplesFile, results);
  };
  ExampleResults others = some_results(400);
  others.examples = "those";
  write(0, some_results(400));
  write(1, some_results(400, /*better=*/true));
  write(2, some_results(400));
  write(3, others);
  const std::vector<RunDifference> differences = differences_of(runs);
  REQUIRE(differences.size() == 4);
  CHECK(differences[0].only_first == 0);
  CHECK(differences[0].only_this == 100);
  CHECK(value_of(differences[0].differences, "accuracy", &MetricInterval::value) == 0.25);
  CHECK(value_of(differences[0].differences, "loss", &MetricInterval::high) < 0);
  for (const MetricInterval& one : differences[0].differences) CHECK(differences[0].is_more_than_chance(one));
  for (const MetricInterval& one : differences[1].differences)
    CHECK_FALSE(differences[1].is_more_than_chance(one));
  CHECK_THAT(differences[2].why_not, ContainsSubstring("not those of A"));
  CHECK_THAT(differences[3].why_not, ContainsSubstring("dtrain eval"));
  const std::string text = chance_text(differences);
  CHECK_THAT(text, ContainsSubstring("more than chance; only A is right on 0, only B on 100"));
  CHECK_THAT(text, ContainsSubstring("E: cannot be told"));
  CHECK(chance_document(differences, runs)[0]["differences"]["accuracy"]["more_than_chance"] == true);
}

}  // namespace
}  // namespace dtrain
