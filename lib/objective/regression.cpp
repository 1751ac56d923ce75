#include "objective/regression.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

// The sums of these objectives, in the order of their table entries.
enum : int64_t { kSquaredErrors, kAbsoluteErrors, kTargets, kSquaredTargets };

// Each returns the loss of every output, [n, outputs].
at::Tensor squared(const at::Tensor& values, const at::Tensor& targets, double) {
  return at::mse_loss(values, targets, at::Reduction::None);
}
at::Tensor absolute(const at::Tensor& values, const at::Tensor& targets, double) {
  return at::l1_loss(values, targets, at::Reduction::None);
}
at::Tensor huber(const at::Tensor& values, const at::Tensor& targets, double delta) {
  return at::huber_loss(values, targets, at::Reduction::None, delta);
}

class Regression : public Objective {
 public:
  using Loss = at::Tensor (*)(const at::Tensor& values, const at::Tensor& targets, double delta);

  Regression(const TrainSpec& train, Loss loss)
      : Objective(objective_info(train.loss.kind)), loss_(loss), delta_(train.loss.delta) {}

  at::Tensor training_loss(const at::Tensor& values, const at::Tensor& targets) const override {
    return training_losses(values, targets).sum();
  }
  at::Tensor training_losses(const at::Tensor& values, const at::Tensor& targets) const override {
    return loss_(values, targets.to(values.scalar_type()), delta_).mean(1);
  }
  at::Tensor evaluation_loss(const at::Tensor& values, const at::Tensor& targets) const override {
    return training_loss(values, targets);
  }
  void sum_up(const at::Tensor& values, const at::Tensor& targets, const at::Tensor& sums) const override {
    const at::Tensor wanted = targets.to(at::kDouble);
    const at::Tensor errors = values.to(at::kDouble) - wanted;
    const auto store = [&sums](int64_t index, const at::Tensor& of_outputs) {
      sums.select(0, index).copy_(of_outputs.mean(1).sum());
    };
    store(kSquaredErrors, errors.square());
    store(kAbsoluteErrors, errors.abs());
    store(kTargets, wanted);
    store(kSquaredTargets, wanted.square());
  }
  at::Tensor averaged(const at::Tensor& values, const at::Tensor& others) const override {
    return (values + others) / 2;
  }

 private:
  Loss loss_;
  double delta_;
};

}  // namespace

std::unique_ptr<Objective> make_mean_squared_error(const TrainSpec& train) {
  return std::make_unique<Regression>(train, squared);
}

std::unique_ptr<Objective> make_mean_absolute_error(const TrainSpec& train) {
  return std::make_unique<Regression>(train, absolute);
}

std::unique_ptr<Objective> make_huber(const TrainSpec& train) {
  return std::make_unique<Regression>(train, huber);
}

}  // namespace dtrain
