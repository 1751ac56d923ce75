#include "objective/regression.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

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

 private:
  // The sum over the examples of each output.
  static void store(const at::Tensor& of_examples, at::Tensor sums) {
    at::sum_out(sums, of_examples, at::IntArrayRef{0});
  }

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
