#include "objective/binary_cross_entropy.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

// The sums of this objective, in the order of its table entry.
enum : int64_t { kCorrect, kTruePositives, kPredictedPositives, kPositives };

at::Tensor as_numbers(const at::Tensor& targets, const at::Tensor& logits) {
  const at::Tensor numbers = targets.to(logits.scalar_type());
  return numbers.dim() == 1 ? numbers.unsqueeze(1) : numbers;
}

class BinaryCrossEntropy : public Objective {
 public:
  explicit BinaryCrossEntropy(const TrainSpec& train)
      : Objective(objective_info("binary_cross_entropy")),
        label_smoothing_(train.label_smoothing),
        weights_(train.loss.class_weights.weights) {}

  at::Tensor training_loss(const at::Tensor& logits, const at::Tensor& targets) const override {
    return training_losses(logits, targets).sum();
  }
  at::Tensor training_losses(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor hard = as_numbers(targets, logits);
    const at::Tensor soft =
        label_smoothing_ > 0 ? hard * (1 - label_smoothing_) + label_smoothing_ / 2 : hard;
    if (weights_.empty()) return losses(logits, soft, {});
    return losses(logits, soft, hard * (weights_[1] - weights_[0]) + weights_[0]);
  }
  at::Tensor evaluation_loss(const at::Tensor& logits, const at::Tensor& targets) const override {
    return losses(logits, as_numbers(targets, logits), {}).sum();
  }
  void sum_up(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& sums) const override {
    const at::Tensor positive = as_numbers(targets, logits) > 0.5;
    const at::Tensor predicted = logits > 0;
    sums.select(0, kCorrect).copy_(predicted.eq(positive).to(at::kDouble).mean(1).sum());
    sums.select(0, kTruePositives).copy_(predicted.logical_and(positive).sum());
    sums.select(0, kPredictedPositives).copy_(predicted.sum());
    sums.select(0, kPositives).copy_(positive.sum());
  }
  // The logarithm of p / (1 - p), both in logarithms, so that no p is rounded to 0 or 1. The halves cancel.
  at::Tensor averaged(const at::Tensor& logits, const at::Tensor& others) const override {
    return at::logaddexp(at::log_sigmoid(logits), at::log_sigmoid(others)) -
           at::logaddexp(at::log_sigmoid(-logits), at::log_sigmoid(-others));
  }
  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor positive = as_numbers(targets, logits) > 0.5;
    const at::Tensor predicted = logits > 0;
    const at::Tensor first =
        at::stack({positive.sum(0), predicted.sum(0), predicted.logical_and(positive).sum(0)}, 1);
    const int64_t outputs = logits.size(1), bins = score_bins(outputs);
    const at::Tensor scores = logits.to(at::kDouble);
    const at::Tensor bin = scores
                               .div(scores.abs() + 1)  // -1 to 1
                               .add_(1)
                               .mul_(static_cast<double>(bins) / 2)
                               .to(at::kLong)
                               .clamp_max_(bins - 1);
    const at::Tensor histogram = at::arange(outputs, bin.options()) * 2 + positive.logical_not();
    const at::Tensor counts = at::bincount((histogram * bins + bin).flatten(), {}, outputs * 2 * bins);
    return at::cat({first, counts.view({outputs, 2 * bins})}, 1);
  }

 private:
  static at::Tensor losses(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& weight) {
    return at::binary_cross_entropy_with_logits(logits, targets, weight, /*pos_weight=*/{},
                                                at::Reduction::None)
        .mean(1);
  }

  double label_smoothing_;
  std::vector<double> weights_;  // of the targets 0 and 1; empty: all the same
};

}  // namespace

std::unique_ptr<Objective> make_binary_cross_entropy(const TrainSpec& train) {
  return std::make_unique<BinaryCrossEntropy>(train);
}

}  // namespace dtrain
