#include "objective/regression.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

class Regression : public Objective {
 public:
  Regression(const TrainSpec& train, OutputLosses losses)
      : Objective(objective_info(train.loss.kind)), losses_(losses), spec_(train.loss) {}

  at::Tensor training_losses(const at::Tensor& values, const at::Tensor& targets) const override {
    return losses_(values, targets.to(values.scalar_type()), spec_).mean(1);
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

  OutputLosses losses_;
  LossSpec spec_;
};

class RegressionOperations final : public LossOperations {
 public:
  RegressionOperations(const TrainSpec& train, const Value& outputs, LoweredRegression rows)
      : LossOperations(train, outputs), rows_(rows) {}

  RowLosses rows(const Value& targets) override {
    const Value error = outputs_ - targets;
    const Value size = builder_.apply("abs", error), sign = builder_.apply("sign", error);
    return rows_({error, size, sign}, train_.loss);
  }

  std::vector<Value> sums(const Value& targets) override {
    const Value error = outputs_ - targets;
    return {error * error, builder_.apply("abs", error)};
  }

 private:
  LoweredRegression rows_;
};

}  // namespace

std::unique_ptr<Objective> make_regression(const TrainSpec& train, OutputLosses losses) {
  return std::make_unique<Regression>(train, losses);
}

std::unique_ptr<LossOperations> lower_regression(const TrainSpec& train, const Value& outputs,
                                                 LoweredRegression rows) {
  return std::make_unique<RegressionOperations>(train, outputs, rows);
}

}  // namespace dtrain
