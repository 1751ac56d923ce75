// The metrics that only evaluations have, against what scikit-learn 1.9 gives for the same numbers
// (precision_score, recall_score and f1_score with average="macro", top_k_accuracy_score, roc_auc_score), and
// the error of a binned area under a curve against all pairs of examples.
#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "objective/metric_sums.h"

namespace dtrain {
namespace {

TrainSpec evaluated_with(const std::string& loss) {
  TrainSpec train;
  train.loss.kind = loss;
  return train;
}

// Adds the examples in parts of `at_once`, as replicas and batches do; some batches are empty.
MetricSums evaluated_in_parts(const std::string& loss, const at::Tensor& outputs, const at::Tensor& targets,
                              int64_t at_once) {
  const auto objective = make_objective(evaluated_with(loss));
  MetricSums all;
  for (int64_t begin = 0; begin < outputs.size(0); begin += at_once) {
    const int64_t count = std::min(at_once, outputs.size(0) - begin);
    MetricSums part;
    part.add_evaluated(*objective, outputs.narrow(0, begin, 0), targets.narrow(0, begin, 0));
    part.add_evaluated(*objective, outputs.narrow(0, begin, count), targets.narrow(0, begin, count));
    all.add(part);
  }
  return all;
}

std::map<std::string, double> evaluated(const std::string& loss, const at::Tensor& outputs,
                                        const at::Tensor& targets, int64_t at_once = 100) {
  const MetricValues metrics = evaluated_in_parts(loss, outputs, targets, at_once).metrics();
  return {metrics.begin(), metrics.end()};
}

at::Tensor rows_of_numbers(const std::vector<double>& numbers, int64_t columns) {
  return at::tensor(numbers, at::kDouble).view({-1, columns});
}

Approx precisely(double value) { return Approx(value).epsilon(1e-14); }

TEST_CASE("an evaluation keeps the loss, the targets and the outputs of each example, if it is to") {
  const auto objective = make_objective(evaluated_with("cross_entropy"));
  const at::Tensor outputs = rows_of_numbers({1, 2, 3, 3, 2, 1}, 3), targets = at::tensor({0, 2}, at::kLong);
  MetricSums sums;
  sums.add_evaluated(*objective, outputs, targets);
  CHECK(sums.take_rows().empty());
  sums.add_evaluated(*objective, outputs.narrow(0, 0, 0), targets.narrow(0, 0, 0), /*keeps_rows=*/true);
  sums.add_evaluated(*objective, outputs, targets, /*keeps_rows=*/true);
  const MetricSums::Rows made = sums.take_rows();
  REQUIRE(made.size() == 2);
  const at::Tensor rows = at::cat({made[0](), made[1]()});
  const float loss = 2.4076059F;
  CHECK(at::allclose(rows, at::tensor({loss, 0.F, 1.F, 2.F, 3.F, loss, 2.F, 3.F, 2.F, 1.F}).view({2, 5})));
  CHECK(sums.take_rows().empty());
}

at::Tensor seven_logits() {
  return rows_of_numbers(
      {0.1,   -1.32, -0.25, 0.42,  1.14,  0.11,  -0.55, -0.78, 1.65,  1.63,  0.27,  -1.23, -0.96, 1.6,
       0.2,   -1.73, 0.82,  -1.16, -0.63, -0.49, -0.71, 0.55,  -0.06, -0.59, 1.31,  0.83,  -1.64, -0.26,
       -0.98, -0.17, -1.29, 0.02,  0.86,  -0.3,  -1.05, -0.4,  -1.09, -1.36, 0.22,  -1.11, 2.07,  0.72,
       -1.1,  0.27,  -1,    0.03,  0.04,  -1.99, -0.23, -0.26, 1.86,  -1.18, 0.74,  -1.1,  -0.33, -0.84,
       1.45,  0.57,  3.33,  0.64,  0.84,  0.84,  -0.61, -0.07, 1.35,  -0.4,  1.09,  -0.02, 0.61,  -0.36,
       0.75,  0.24,  0.1,   -0.86, 0.9,   -1.3,  -1.2,  -0.38, 0.97,  -0.36, -0.97, -1.14, 0.42,  -1.05},
      7);
}
at::Tensor seven_classes() { return at::tensor({0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 0, 0}, at::kLong); }

TEST_CASE("a model whose outputs are no numbers has a loss that is none") {
  const at::Tensor outputs = rows_of_numbers({NAN, INFINITY, -INFINITY, 1}, 1);
  const auto metrics = evaluated("binary_cross_entropy", outputs, at::tensor({0, 1, 0, 1}, at::kLong));
  CHECK(std::isnan(metrics.at("loss")));
}

TEST_CASE("macro metrics and the top five of classes are scikit-learn's") {
  const int64_t at_once = GENERATE(1, 5, 100);
  const auto metrics = evaluated("cross_entropy", seven_logits(), seven_classes(), at_once);
  CHECK(metrics.size() == 6);
  CHECK(metrics.at("accuracy") == precisely(7.0 / 12));
  CHECK(metrics.at("top_5_accuracy") == precisely(11.0 / 12));
  // The seventh class has neither examples nor predictions, and does not count.
  CHECK(metrics.at("macro_precision") == precisely(0.6222222222222222));
  CHECK(metrics.at("macro_recall") == precisely(0.75));
  CHECK(metrics.at("macro_f1") == precisely(0.623015873015873));
}

TEST_CASE("a class is not among the top five of outputs that are no numbers, and ties are") {
  at::Tensor outputs = seven_logits();
  outputs[0].fill_(NAN);
  outputs[1].fill_(0);
  CHECK(evaluated("cross_entropy", outputs, seven_classes()).at("top_5_accuracy") == precisely(10.0 / 12));
}

TEST_CASE("the counts of classes are their examples, predictions and hits") {
  MetricSums sums = evaluated_in_parts("cross_entropy", seven_logits(), seven_classes(), 4);
  const std::vector<ClassCounts> of = by_class(sums.counted());
  REQUIRE(of.size() == 7);
  const std::vector<double> f1 = {0, 0.5714285714285714, 1, 0.6666666666666666, 0.5, 1, 0};
  for (size_t label = 0; label < f1.size(); ++label) CHECK(of[label].f1() == precisely(f1[label]));
  CHECK(of[1].actual == 2);
  CHECK(of[1].predicted == 5);
  CHECK(of[1].correct == 2);
}

TEST_CASE("of five classes or fewer there is no top five") {
  const auto metrics = evaluated("cross_entropy", seven_logits().narrow(1, 0, 5), seven_classes() % 5);
  CHECK_FALSE(metrics.contains("top_5_accuracy"));
  CHECK(metrics.contains("macro_f1"));
}

TEST_CASE("one answer of yes or no is of two classes, as in scikit-learn") {
  const int64_t at_once = GENERATE(3, 100);
  const at::Tensor logits = rows_of_numbers({2.5, -0.3, 0.7, 0.1, -1.2, -2.0, 3.1, 0.4, -0.8, 1.5}, 1);
  const at::Tensor answers = at::tensor({1, 0, 1, 0, 0, 1, 1, 1, 0, 0}, at::kLong);
  const auto metrics = evaluated("binary_cross_entropy", logits, answers, at_once);
  CHECK(metrics.at("auc") == precisely(0.72));
  CHECK(metrics.at("macro_precision") == precisely(0.7083333333333333));
  CHECK(metrics.at("macro_recall") == precisely(0.7));
  CHECK(metrics.at("macro_f1") == precisely(0.696969696969697));
}

TEST_CASE("several answers of yes or no count alike, and what has one kind of answer has no area") {
  const int64_t at_once = GENERATE(1, 100);
  const at::Tensor logits = rows_of_numbers(
      {-2.54, 1.23,  -2.39, -0.64, -0.01, -0.89, -0.11, 2.68, -1.03, -2.52, -3.67, -0.41, -0.7,  0.53,
       -0.93, -0.96, -1.44, -1.04, 0.32,  -0.76, 0.2,   3.8,  0.96,  -3.15, 3.47,  0.7,   -1.88, 1.81,
       0.04,  -1.23, -1.27, -1.99, 0.1,   2.14,  -0.65, 0.84, 3.75,  -2.43, 0.52,  -0.61},
      4);
  const at::Tensor answers = rows_of_numbers({1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0,
                                              1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0},
                                             4);
  const auto metrics = evaluated("binary_cross_entropy", logits, answers, at_once);
  CHECK(metrics.at("macro_precision") == precisely(1.0 / 3));
  CHECK(metrics.at("macro_recall") == precisely(0.3125));
  CHECK(metrics.at("macro_f1") == precisely(0.3157467532467533));
  CHECK(metrics.at("auc") == precisely(0.4424603174603175));  // the mean of the first three
  const Counts counts = evaluated_in_parts("binary_cross_entropy", logits, answers, at_once).counted();
  CHECK(area_under_curve(counts, 0)->value == precisely(0.7083333333333334));
  CHECK(area_under_curve(counts, 1)->value == precisely(0.2857142857142857));
  CHECK(area_under_curve(counts, 2)->value == precisely(1.0 / 3));
  CHECK_FALSE(area_under_curve(counts, 3));
}

// Of all pairs; equal outputs count half.
double exact_area(const at::Tensor& logits, const at::Tensor& answers) {
  const at::Tensor yes = logits.masked_select(answers.eq(1)), no = logits.masked_select(answers.eq(0));
  const at::Tensor difference = yes.unsqueeze(1) - no.unsqueeze(0);
  return difference.gt(0).to(at::kDouble).add(difference.eq(0).to(at::kDouble), 0.5).mean().item<double>();
}

TEST_CASE("the area is off by no more than its error, at any scale of the outputs") {
  at::manual_seed(11);
  for (const double scale : {1e-3, 0.1, 1.0, 10.0, 1e4}) {
    for (const int64_t outputs : {1, 40}) {
      INFO(scale << " " << outputs);
      const at::Tensor answers = (at::rand({3000, outputs}, at::kDouble) < 0.3).to(at::kDouble);
      const at::Tensor logits = (at::randn({3000, outputs}, at::kDouble) + answers) * scale;
      const Counts counts = evaluated_in_parts("binary_cross_entropy", logits, answers, 1000).counted();
      const auto area = area_under_curve(counts, 0);
      REQUIRE(area);
      const double exact = exact_area(logits.select(1, 0), answers.select(1, 0));
      CHECK(std::abs(area->value - exact) <= area->error + 1e-12);
      if (outputs == 1 && scale >= 0.1 && scale <= 10) CHECK(area->error < 1e-3);
    }
  }
}

TEST_CASE("outputs that cannot be told apart have an area of one half, and say that they know nothing") {
  const at::Tensor logits = at::full({4, 1}, 0.25, at::kDouble);
  const Counts counts =
      evaluated_in_parts("binary_cross_entropy", logits, at::tensor({0, 1, 1, 0}, at::kLong), 4).counted();
  CHECK(area_under_curve(counts, 0)->value == 0.5);
  CHECK(area_under_curve(counts, 0)->error == 0.5);
  // The largest outputs there are have a bin, too.
  const at::Tensor vast = rows_of_numbers({1e300, -1e300}, 1);
  CHECK(evaluated("binary_cross_entropy", vast, at::tensor({1, 0}, at::kLong)).at("auc") == 1);
}

TEST_CASE("a step of training has no metrics of evaluations, and neither have losses of numbers") {
  const auto objective = make_objective(evaluated_with("cross_entropy"));
  MetricSums step;
  step.add_batch(*objective, seven_logits(), seven_classes(), at::zeros({}, at::kDouble));
  CHECK(step.metrics().size() == 2);
  CHECK_FALSE(step.counts().defined());
  const at::Tensor numbers = rows_of_numbers({1, 2, 3}, 1);
  CHECK(evaluated("huber", numbers, numbers).size() == 4);
}

TEST_CASE("averaged outputs stand for the mean of the probabilities, also where these are nearly 0 or 1") {
  at::manual_seed(5);
  const double scale = GENERATE(1.0, 200.0);
  const at::Tensor one = at::randn({40, 3}, at::kDouble) * scale;
  const at::Tensor other = at::randn({40, 3}, at::kDouble) * scale;
  const auto averaged = [&](const std::string& loss) {
    const at::Tensor outputs = make_objective(evaluated_with(loss))->averaged(one, other);
    CHECK(at::isfinite(outputs).all().item<bool>());
    return outputs;
  };
  const auto same = [](const at::Tensor& a, const at::Tensor& b) { return at::allclose(a, b, 1e-10, 1e-14); };
  CHECK(same(averaged("cross_entropy").softmax(1), (one.softmax(1) + other.softmax(1)) / 2));
  CHECK(same(averaged("binary_cross_entropy").sigmoid(), (one.sigmoid() + other.sigmoid()) / 2));
  CHECK(same(averaged("huber"), (one + other) / 2));
}

}  // namespace
}  // namespace dtrain
