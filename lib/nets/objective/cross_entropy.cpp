#include "objective/cross_entropy.h"

#include <ATen/ATen.h>

#include <cmath>

namespace dtrain {
namespace {

class CrossEntropy : public Objective {
 public:
  explicit CrossEntropy(const TrainSpec& train)
      : Objective(objective_info("cross_entropy")), label_smoothing_(train.label_smoothing) {
    const std::vector<double>& weights = train.loss.class_weights.weights;
    if (!weights.empty()) weights_ = at::tensor(weights, at::kDouble);
  }

  at::Tensor training_loss(const at::Tensor& logits, const at::Tensor& targets) const override {
    if (weights_.defined()) return training_losses(logits, targets).sum();
    return loss(logits, targets, label_smoothing_);
  }
  at::Tensor training_losses(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor losses = loss(logits, targets, label_smoothing_, at::Reduction::None);
    if (!weights_.defined()) return losses;
    // Kept where it is used: a recorded step must not copy from the host.
    if (weights_.device() != logits.device() || weights_.scalar_type() != logits.scalar_type())
      weights_ = weights_.to(logits.options());
    return losses * weights_.index_select(0, targets);
  }
  at::Tensor evaluation_loss(const at::Tensor& logits, const at::Tensor& targets) const override {
    return loss(logits, targets, /*label_smoothing=*/0);
  }
  void sum_up(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& sums) const override {
    at::Tensor hits = at::empty(targets.sizes(), sums.options());
    at::eq_out(hits, logits.argmax(1), targets);
    at::Tensor correct = sums.select(0, 0);
    at::sum_out(correct, hits, at::IntArrayRef{0});
  }
  at::Tensor averaged(const at::Tensor& logits, const at::Tensor& others) const override {
    return at::logaddexp(logits.log_softmax(1), others.log_softmax(1)) - std::log(2.0);
  }
  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor predicted = logits.argmax(1);
    const at::Tensor own = logits.gather(1, targets.unsqueeze(1));
    const at::Tensor in_top = logits.gt(own).sum(1).lt(kTop);
    const auto by_class = [&](const at::Tensor& labels) { return at::bincount(labels, {}, logits.size(1)); };
    return at::stack(
        {by_class(targets), by_class(predicted), by_class(targets.masked_select(predicted.eq(targets))),
         by_class(targets.masked_select(in_top))},
        1);
  }

 private:
  static at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets, double label_smoothing,
                         at::Reduction::Reduction reduction = at::Reduction::Sum) {
    return at::cross_entropy_loss(logits, targets, /*weight=*/{}, reduction, /*ignore_index=*/-100,
                                  label_smoothing);
  }

  double label_smoothing_;
  mutable at::Tensor weights_;  // [classes]; undefined: all the same
};

}  // namespace

std::unique_ptr<Objective> make_cross_entropy(const TrainSpec& train) {
  return std::make_unique<CrossEntropy>(train);
}

}  // namespace dtrain
