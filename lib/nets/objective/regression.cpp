// Losses of numbers: values [n, outputs] and targets of the same shape and type. The loss of an example is
// the mean over its outputs. Two functions make one: what LibTorch computes, and the same as operations.
#include <ATen/ATen.h>

#include <cmath>

#include "objective/loss_operations.h"

namespace dtrain {
namespace {

// `kLosses`: the loss of every output, [n, outputs].
template <at::Tensor (*kLosses)(const at::Tensor& values, const at::Tensor& targets, const LossSpec& spec)>
class Regression : public Objective {
 public:
  explicit Regression(const TrainSpec& train)
      : Objective(objective_info(train.loss.kind)), spec_(train.loss) {}

  at::Tensor training_losses(const at::Tensor& values, const at::Tensor& targets) const override {
    return kLosses(values, targets.to(values.scalar_type()), spec_).mean(1);
  }
  void sum_up(const at::Tensor& values, const at::Tensor& targets, const at::Tensor& sums) const override {
    const at::Tensor wanted = targets.to(at::kDouble);
    const at::Tensor errors = values.to(at::kDouble) - wanted;
    const int64_t outputs = errors.size(1);
    store(errors.square(), sums.narrow(0, 0, outputs));
    store(errors.abs(), sums.narrow(0, outputs, outputs));
    sum_up_targets(wanted, sums.narrow(0, 2 * outputs, 2 * outputs));
  }
  void sum_up_targets(const at::Tensor& targets, const at::Tensor& sums) const override {
    const at::Tensor wanted = targets.to(at::kDouble);
    const int64_t outputs = wanted.size(1);
    store(wanted, sums.narrow(0, 0, outputs));
    store(wanted.square(), sums.narrow(0, outputs, outputs));
  }
  at::Tensor averaged(const at::Tensor& values, const at::Tensor& others) const override {
    return (values + others) / 2;
  }
  at::Tensor predictions(const at::Tensor& values, bool /*classes*/) const override { return values; }

 private:
  // The sum over the examples of each output.
  static void store(const at::Tensor& of_examples, at::Tensor sums) {
    at::sum_out(sums, of_examples, at::IntArrayRef{0});
  }

  LossSpec spec_;
};

// The errors [rows, outputs] as operations, their size and their sign.
struct LoweredErrors {
  Value error, size, sign;

  Value mean(const Value& of_outputs) const { return error.builder->sum(of_outputs, {1}) / outputs(); }
  double outputs() const { return static_cast<double>(error.size(1)); }
};

template <RowLosses (*kRows)(const LoweredErrors& of, const LossSpec& spec)>
class RegressionOperations final : public LossOperations {
 public:
  using LossOperations::LossOperations;

  RowLosses rows(const Value& targets) override {
    const Value error = outputs_ - targets;
    const Value size = builder_.apply("abs", error), sign = builder_.apply("sign", error);
    return kRows({error, size, sign}, train_.loss);
  }
  std::vector<Value> sums(const Value& targets) override {
    const Value error = outputs_ - targets;
    return {error * error, builder_.apply("abs", error)};
  }
};

at::Tensor squares(const at::Tensor& values, const at::Tensor& targets, const LossSpec&) {
  return at::mse_loss(values, targets, at::Reduction::None);
}

RowLosses lowered_squares(const LoweredErrors& of, const LossSpec&) {
  return {of.mean(of.error * of.error), of.error * (2 / of.outputs())};
}

at::Tensor sizes(const at::Tensor& values, const at::Tensor& targets, const LossSpec&) {
  return at::l1_loss(values, targets, at::Reduction::None);
}

RowLosses lowered_sizes(const LoweredErrors& of, const LossSpec&) {
  return {of.mean(of.size), of.sign / of.outputs()};
}

// Of an error e: e^2 / 2 up to a size of d = train.loss.delta, and d (|e| - d / 2) beyond it.
at::Tensor huber(const at::Tensor& values, const at::Tensor& targets, const LossSpec& spec) {
  return at::huber_loss(values, targets, at::Reduction::None, spec.own.get<HuberFields>().delta);
}

RowLosses lowered_huber(const LoweredErrors& of, const LossSpec& spec) {
  TextBuilder& builder = *of.error.builder;
  const double delta = spec.own.get<HuberFields>().delta;
  const Value is_near = builder.compare("LT", of.size, builder.like(of.size, delta));
  const Value square = of.error * of.error * 0.5;
  const Value losses = builder.select(is_near, square, (of.size - delta / 2) * delta);
  return {of.mean(losses), builder.select(is_near, of.error, of.sign * delta) / of.outputs()};
}

// log(cosh(e)) of an error e, as |e| + log(1 + exp(-2 |e|)) - log 2: cosh(e) itself overflows.
at::Tensor log_cosh(const at::Tensor& values, const at::Tensor& targets, const LossSpec&) {
  const at::Tensor size = (values - targets).abs();
  return size + (size * -2).exp().log1p() - std::log(2.0);
}

RowLosses lowered_log_cosh(const LoweredErrors& of, const LossSpec&) {
  TextBuilder& builder = *of.error.builder;
  const Value rest = builder.apply("log_plus_one", builder.apply("exponential", of.size * -2));
  return {of.mean(of.size + rest - std::log(2.0)), builder.apply("tanh", of.error) / of.outputs()};
}

}  // namespace

const LossKind kMeanSquaredError =
    loss_kind<Regression<squares>, RegressionOperations<lowered_squares>>("mean_squared_error");
const LossKind kMeanAbsoluteError =
    loss_kind<Regression<sizes>, RegressionOperations<lowered_sizes>>("mean_absolute_error");
const LossKind kHuber = loss_kind<Regression<huber>, RegressionOperations<lowered_huber>>("huber");
const LossKind kLogCosh = loss_kind<Regression<log_cosh>, RegressionOperations<lowered_log_cosh>>("log_cosh");

}  // namespace dtrain
