// The losses and their metrics against values computed by hand from their definitions, in double precision,
// which PyTorch's functions give too.
#include <ATen/ATen.h>

#include <cmath>

#include "catch.h"
#include "objective/metric_sums.h"
#include "strategy/replicas.h"

namespace dtrain {
namespace {

TrainSpec with_loss(const std::string& kind) {
  TrainSpec train;
  train.loss.kind = kind;
  return train;
}

at::Tensor matrix(const std::vector<double>& values, int64_t columns) {
  return at::tensor(values, at::kDouble).view({-1, columns});
}

at::Tensor classes(const std::vector<int64_t>& labels) { return at::tensor(labels, at::kLong); }

// The mean training loss of the examples.
double loss_of(const TrainSpec& train, const at::Tensor& outputs, const at::Tensor& targets) {
  return make_objective(train)->training_loss(outputs, targets).item<double>() /
         static_cast<double>(targets.size(0));
}

std::map<std::string, double> metrics_of(const std::string& loss, const at::Tensor& outputs,
                                         const at::Tensor& targets) {
  const auto objective = make_objective(with_loss(loss));
  MetricSums sums;
  sums.add_batch(*objective, outputs, targets, objective->evaluation_loss(outputs, targets));
  const MetricValues metrics = sums.metrics();
  return {metrics.begin(), metrics.end()};
}

Approx about(double value) { return Approx(value).epsilon(1e-12); }

at::Tensor two_values() { return matrix({0.5, -1.0, 2.0, 0.25, -3.0, 1.5}, 2); }
at::Tensor two_targets() { return matrix({1.0, -1.5, -0.5, 0.25, -3.2, 4.0}, 2); }

TEST_CASE("losses of numbers are means over an example's outputs") {
  const at::Tensor values = two_values(), targets = two_targets();
  CHECK(loss_of(with_loss("mean_squared_error"), values, targets) == about(2.1733333333333333));
  CHECK(loss_of(with_loss("mean_absolute_error"), values, targets) == about(1.0333333333333334));
  TrainSpec huber = with_loss("huber");
  CHECK(loss_of(huber, values, targets) == about(0.7116666666666666));
  huber.loss.own = HuberFields{.delta = 0.4};
  CHECK(loss_of(huber, values, targets) == about(0.3499999999999999));
  huber.loss.own = HuberFields{.delta = 1e6};  // no error is beyond it
  CHECK(loss_of(huber, values, targets) == about(2.1733333333333333 / 2));
  CHECK(loss_of(with_loss("log_cosh"), values, targets) == about(0.647872236935818));
}

TEST_CASE("log_cosh is as exact for errors whose cosh overflows, and its gradient is tanh") {
  const at::Tensor errors = matrix({0, 1e-9, -0.75, 1000, -1000}, 1).requires_grad_(true);
  const auto objective = make_objective(with_loss("log_cosh"));
  const at::Tensor losses = objective->training_losses(errors, at::zeros({5, 1}, at::kDouble));
  losses.sum().backward();
  CHECK(losses[0].item<double>() == Approx(0).margin(1e-15));
  CHECK(losses[2].item<double>() == about(std::log(std::cosh(0.75))));
  CHECK(losses[3].item<double>() == about(1000 - std::log(2.0)));
  CHECK(losses[4].item<double>() == losses[3].item<double>());
  CHECK(at::allclose(errors.grad(), errors.detach().tanh(), 1e-12, 1e-15));
}

TEST_CASE("every loss of numbers has the same metrics") {
  const std::string loss = GENERATE(from_range(objectives_for(Targets::kNumbers)));
  const auto metrics = metrics_of(loss, two_values(), two_targets());
  CHECK(metrics.size() == 4);
  CHECK(metrics.at("rmse") == about(1.4742229591663987));
  CHECK(metrics.at("mae") == about(1.0333333333333334));
  CHECK(metrics.at("r2") == about(0.43326809834174984));
  const auto one = metrics_of(loss, matrix({1.5, 1.5, 4.5, 6}, 1), matrix({1, 2, 4, 7}, 1));
  CHECK(one.at("r2") == about(0.9166666666666666));
  CHECK(objective_info(loss).main().name == "rmse");
}

// Constant predictions that are b from the mean of targets, all of which are s from it: r2 is -(b / s)^2. The
// means of the outputs are far apart, which explains nothing of either.
TEST_CASE("r2 of several outputs is the mean of theirs, as in scikit-learn") {
  const double first = -0.179, second = 999.5544;  // the means; the targets are 1 from them, and 2
  const at::Tensor targets = matrix({first + 1, second - 2, first - 1, second + 2}, 2).repeat({25, 1});
  const at::Tensor values = matrix({0.021, 999.973}, 2).repeat({50, 1});
  const auto metrics = metrics_of("mean_squared_error", values, targets);
  const double of_first = -0.2 * 0.2, of_second = -0.4186 * 0.4186 / 4;
  CHECK(metrics.at("r2") == Approx((of_first + of_second) / 2).epsilon(1e-6));
  CHECK(metrics.at("r2") == Approx(-0.0419).epsilon(1e-4));
  const auto objective = make_objective(with_loss("mean_squared_error"));
  MetricSums sums;
  sums.add_evaluated(*objective, values, targets);
  const std::vector<MetricValues> outputs = sums.metrics_of_outputs();
  REQUIRE(outputs.size() == 2);
  CHECK(find_metric(outputs[0], "r2") == Approx(of_first).epsilon(1e-6));
  CHECK(find_metric(outputs[1], "r2") == Approx(of_second).epsilon(1e-6));
  CHECK(find_metric(outputs[0], "rmse") == about(std::sqrt(1 + 0.2 * 0.2)));
  CHECK(find_metric(outputs[1], "rmse") == about(std::sqrt(4 + 0.4186 * 0.4186)));
  CHECK(find_metric(outputs[0], "mae") == about(1));
  CHECK(find_metric(outputs[1], "mae") == about(2));
  CHECK_FALSE(find_metric(outputs[0], "loss"));
  CHECK(metrics.at("mae") == about(1.5));
}

TEST_CASE("r2 of targets that are all the same is 1 for their values and 0 for others, as in scikit-learn") {
  const at::Tensor same = matrix({0.1, 0.1, 0.1}, 1);
  CHECK(metrics_of("mean_squared_error", same, same).at("r2") == 1);
  CHECK(metrics_of("mean_squared_error", same + 0.5, same).at("r2") == 0);
  // Of one output among others, too, of which the second one has 0.5.
  const at::Tensor other = matrix({1, 3, 2}, 1), half = matrix({2, 3, 2}, 1);
  const auto with_other = [&](const at::Tensor& values) {
    return metrics_of("huber", at::cat({values, half}, 1), at::cat({same, other}, 1)).at("r2");
  };
  CHECK(with_other(same) == about(0.75));
  CHECK(with_other(same + 0.5) == about(0.25));
}

at::Tensor two_logits() { return matrix({0.3, -2.0, 1.7, 0.4, -0.6, -1.1, 2.2, 0.2}, 2); }
at::Tensor two_answers() { return matrix({1, 0, 0, 1, 0, 1, 1, 0}, 2); }

// Outputs of four examples, and targets such as the loss takes.
at::Tensor outputs_of(const std::string& loss) {
  return objective_info(loss).outputs == Outputs::kValues ? two_values() : two_logits();
}
at::Tensor targets_of(const std::string& loss) {
  switch (objective_info(loss).targets) {
    case Targets::kClass:
      return classes({1, 0, 0, 1});
    case Targets::kNumbers:
      return two_targets() + 0.05;
    case Targets::kEither:
      break;
  }
  return two_answers();
}

TEST_CASE("binary cross-entropy is that of logits, smoothed and weighted in training alone") {
  TrainSpec train = with_loss("binary_cross_entropy");
  const double plain = 0.7237662502561653;
  CHECK(loss_of(train, two_logits(), two_answers()) == about(plain));
  train.label_smoothing = 0.1;
  CHECK(loss_of(train, two_logits(), two_answers()) == about(0.7393912502561653));
  train.label_smoothing = 0;
  train.loss.class_weights.weights = {0.5, 3};
  CHECK(loss_of(train, two_logits(), two_answers()) == about(1.161817231925772));
  train.label_smoothing = 0.1;
  CHECK(make_objective(train)->evaluation_loss(two_logits(), two_answers()).item<double>() / 4 ==
        about(plain));
  // Far beyond where exp() overflows.
  CHECK(loss_of(with_loss("binary_cross_entropy"), matrix({1e4, -1e4}, 2), matrix({0, 1}, 2)) == about(1e4));
}

TEST_CASE("one logit tells two classes apart") {
  const at::Tensor logits = matrix({0.5, -0.25, -1.5}, 1);
  CHECK(loss_of(with_loss("binary_cross_entropy"), logits, classes({1, 0, 1})) == about(0.9171432273472342));
  const auto metrics = metrics_of("binary_cross_entropy", logits, classes({1, 0, 1}));
  CHECK(metrics.at("accuracy") == about(2.0 / 3));
  CHECK(metrics.at("precision") == 1);
  CHECK(metrics.at("recall") == 0.5);
  // In the type of the model, whatever the labels' type is.
  const at::Tensor narrow = logits.to(at::kFloat);
  CHECK(make_objective(with_loss("binary_cross_entropy"))
            ->training_loss(narrow, classes({1, 0, 1}))
            .scalar_type() == at::kFloat);
}

TEST_CASE("the metrics of yes or no") {
  const auto metrics = metrics_of("binary_cross_entropy", two_logits(), two_answers());
  CHECK(metrics.at("accuracy") == about(5.0 / 8));
  CHECK(metrics.at("precision") == about(3.0 / 5));
  CHECK(metrics.at("recall") == about(3.0 / 4));
  CHECK(metrics.at("f1") == about(2.0 / 3));
  // Where nothing is predicted, or there is nothing to find.
  const auto none = metrics_of("binary_cross_entropy", matrix({-1, -1}, 1), classes({0, 0}));
  CHECK(none.at("accuracy") == 1);
  for (const char* name : {"precision", "recall", "f1"}) CHECK(none.at(name) == 0);
}

TEST_CASE("class weights multiply the losses of their examples in training") {
  const at::Tensor logits = matrix({2.0, 1.0, 0.5, 0.1, 0.2, -0.3, 1.0, -1.0, 3.0}, 3);
  TrainSpec train;
  CHECK(loss_of(train, logits, classes({0, 2, 1})) == about(2.0093760227203683));
  train.loss.class_weights.weights = {1, 2, 0.5};
  CHECK(loss_of(train, logits, classes({0, 2, 1})) == about(3.1535486229614587));
  train.label_smoothing = 0.1;
  CHECK(loss_of(train, logits, classes({0, 2, 1})) == about(3.0429930674059027));
  CHECK(make_objective(train)->evaluation_loss(logits, classes({0, 2, 1})).item<double>() / 3 ==
        about(2.0093760227203683));
}

TEST_CASE("gradients are the slopes of the losses") {
  const std::string loss = GENERATE(from_range(objective_names()));
  TrainSpec train = with_loss(loss);
  if (loss == "huber") train.loss.own = HuberFields{.delta = 0.7};
  train.loss.class_weights.weights = {0.5, 3};  // losses of numbers have none
  const auto objective = make_objective(train);
  const at::Tensor targets = targets_of(loss), at_point = outputs_of(loss);
  const at::Tensor outputs = at_point.clone().requires_grad_(true);
  objective->training_loss(outputs, targets).backward();
  constexpr double kStep = 1e-6;
  for (int64_t i = 0; i < at_point.numel(); ++i) {
    const auto moved = [&](double by) {
      at::Tensor values = at_point.clone();
      values.view({-1})[i] += by;
      return objective->training_loss(values, targets).item<double>();
    };
    const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
    CHECK(outputs.grad().view({-1})[i].item<double>() == Approx(slope).epsilon(1e-6).margin(1e-8));
  }
}

// Where a loss has a kernel for compiled steps.
TEST_CASE("the kernel of a loss makes its gradient and its sums") {
  const std::string loss = GENERATE(from_range(objective_names()));
  TrainSpec train = with_loss(loss);
  train.label_smoothing = 0.1;
  train.loss.class_weights.weights = {0.5, 3};
  const auto objective = make_objective(train);
  const at::Tensor targets = targets_of(loss);
  const at::Tensor outputs = outputs_of(loss).to(at::kFloat).requires_grad_(true);
  const at::Tensor gradient = at::empty(outputs.sizes(), at::kFloat);
  const auto made = objective->run_kernel(outputs.detach(), targets, 0.25, gradient);
  CHECK(made.has_value() == (loss == "cross_entropy"));
  if (!made) return;
  const at::Tensor loss_sum = objective->training_loss(outputs, targets);
  loss_sum.backward(at::full_like(loss_sum, 0.25));
  CHECK(at::allclose(gradient, outputs.grad(), 1e-5, 1e-7));
  MetricSums own, sums;
  own.add_sums(objective->info(), *made);
  sums.add_batch(*objective, outputs.detach(), targets, loss_sum.detach());
  for (const auto& [name, value] : sums.named()) CHECK(own.named().at(name) == Approx(value).epsilon(1e-5));
}

TEST_CASE("the pass of a loss on a device makes the gradient and the sums of autograd's way") {
  const std::string loss = GENERATE(from_range(objective_names()));
  TrainSpec train = with_loss(loss);
  const int way = GENERATE(0, 1, 2);  // plain, smoothed, weighted
  if (way == 1) train.label_smoothing = 0.1;
  if (way == 2) train.loss.class_weights.weights = {0.5, 3};
  const auto objective = make_objective(train);
  const at::Tensor targets = targets_of(loss);
  for (const int64_t examples : {targets.size(0), int64_t{1}, int64_t{0}}) {
    const at::Tensor some = targets.narrow(0, 0, examples);
    const at::Tensor outputs = outputs_of(loss).narrow(0, 0, examples).detach().clone().requires_grad_(true);
    for (const double scale : {0.25, 0.5, 0.25}) {
      const DevicePass pass = objective->device_pass(outputs.detach(), some, scale);
      CHECK(pass.gradient.defined() == (loss == "cross_entropy" && way == 0));
      if (!pass.gradient.defined()) continue;
      outputs.mutable_grad().reset();
      const at::Tensor loss_sum = objective->training_loss(outputs, some);
      loss_sum.backward(at::full_like(loss_sum, scale));
      CHECK(at::allclose(pass.gradient, outputs.grad(), 1e-14, 1e-15));
      MetricSums own, sums;
      own.add_sums(objective->info(), pass.sums);
      sums.add_batch(*objective, outputs.detach(), some, loss_sum.detach());
      for (const auto& [name, value] : sums.named()) CHECK(own.named().at(name) == about(value));
    }
  }
}

TEST_CASE("logits that are not finite make a loss on a device that is not") {
  const auto objective = make_objective(with_loss("cross_entropy"));
  const at::Tensor logits = two_logits();
  logits[0][0] = GENERATE(std::nan(""), HUGE_VAL);
  const DevicePass pass = objective->device_pass(logits, classes(std::vector<int64_t>(logits.size(0), 1)), 1);
  CHECK_FALSE(pass.sums.isfinite().all().item<bool>());
  CHECK_FALSE(pass.gradient.isfinite().all().item<bool>());
}

TEST_CASE("what outputs predict: probabilities of the classes, those of yes, or numbers") {
  const at::Tensor logits = two_logits(), yes = logits.sigmoid();
  const auto predicted = [&](const std::string& loss, const at::Tensor& outputs, bool classes) {
    return make_objective(with_loss(loss))->predictions(outputs, classes);
  };
  CHECK(at::equal(predicted("cross_entropy", logits, true), logits.softmax(1)));
  CHECK(at::equal(predicted("binary_cross_entropy", logits, false), yes));
  const at::Tensor of_two = predicted("binary_cross_entropy", logits.narrow(1, 0, 1), true);
  CHECK(at::equal(of_two.select(1, 1), yes.select(1, 0)));
  CHECK(at::allclose(of_two.sum(1), at::ones({4}, at::kDouble)));
  for (const std::string& loss : objectives_with(Outputs::kValues))
    CHECK(at::equal(predicted(loss, two_values(), false), two_values()));
}

TEST_CASE("no examples make a loss of zero, whatever the loss") {
  for (const std::string& loss : objective_names()) {
    const bool of_classes = objective_info(loss).targets == Targets::kClass;
    const at::Tensor targets = of_classes ? classes({}) : at::zeros({0, 2}, at::kDouble);
    CHECK(loss_of(with_loss(loss), at::zeros({1, 2}, at::kDouble),
                  of_classes ? classes({0}) : at::zeros({1, 2}, at::kDouble)) >= 0);
    const at::Tensor outputs = at::zeros({0, 2}, at::kDouble).requires_grad_(true);
    const at::Tensor sum = make_objective(with_loss(loss))->training_loss(outputs, targets);
    CHECK(sum.item<double>() == 0);
    sum.backward();  // an empty share takes part in the backward pass
    for (const auto& [name, value] : metrics_of(loss, outputs.detach(), targets)) {
      INFO(loss << " " << name);
      CHECK(std::isnan(value));
    }
  }
}

TEST_CASE("metrics of parts add up to those of the whole") {
  for (const std::string& loss : objective_names()) {
    const auto objective = make_objective(with_loss(loss));
    const at::Tensor outputs = outputs_of(loss), targets = targets_of(loss);
    MetricSums parts;
    for (int64_t row = 0; row < outputs.size(0); ++row) {
      const at::Tensor some = outputs.narrow(0, row, 1), wanted = targets.narrow(0, row, 1);
      parts.add_batch(*objective, some, wanted, objective->evaluation_loss(some, wanted));
    }
    const auto whole = metrics_of(loss, outputs, targets);
    for (const auto& [name, value] : parts.metrics()) CHECK(value == about(whole.at(name)));
  }
}

}  // namespace
}  // namespace dtrain
