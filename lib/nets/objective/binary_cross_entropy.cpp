// Binary cross-entropy of logits [n, outputs]: each output is a yes or no of its own.
//
// Targets are 0 to 1, [n, outputs] of the logits' type; or of one output the classes 0 and 1, int64 [n]. The
// loss of an example is the mean over its outputs. With train.label_smoothing e, training moves each target t
// to t (1 - e) + e / 2. With train.loss.class_weights [a, b], training weighs the loss of an output with
// target t by a (1 - t) + b t.
#include <ATen/ATen.h>

#include "objective/loss_operations.h"

namespace dtrain {
namespace {

// The sums of this objective, in the order of its table entry.
enum : int64_t { kCorrect, kTruePositives, kPredictedPositives, kPositives };

// [n, outputs] of the logits' type.
at::Tensor as_matrix(const at::Tensor& targets, const at::Tensor& logits) {
  const at::Tensor values = targets.to(logits.scalar_type());
  return values.dim() == 1 ? values.unsqueeze(1) : values;
}

class BinaryCrossEntropy : public Objective {
 public:
  explicit BinaryCrossEntropy(const TrainSpec& train)
      : Objective(objective_info("binary_cross_entropy")),
        label_smoothing_(train.label_smoothing),
        weights_(train.loss.class_weights.weights) {}

  at::Tensor training_losses(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor hard = as_matrix(targets, logits);
    const at::Tensor soft =
        label_smoothing_ > 0 ? hard * (1 - label_smoothing_) + label_smoothing_ / 2 : hard;
    if (weights_.empty()) return losses(logits, soft, {});
    return losses(logits, soft, hard * (weights_[1] - weights_[0]) + weights_[0]);
  }
  at::Tensor evaluation_losses(const at::Tensor& logits, const at::Tensor& targets) const override {
    return losses(logits, as_matrix(targets, logits), {});
  }
  void sum_up(const at::Tensor& logits, const at::Tensor& targets, const at::Tensor& sums) const override {
    const at::Tensor positive = as_matrix(targets, logits) > 0.5;
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
  at::Tensor predictions(const at::Tensor& logits, bool classes) const override {
    return classes ? at::cat({at::sigmoid(-logits), at::sigmoid(logits)}, 1) : at::sigmoid(logits);
  }
  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor positive = as_matrix(targets, logits) > 0.5;
    const at::Tensor predicted = logits > 0;
    const at::Tensor first =
        at::stack({positive.sum(0), predicted.sum(0), predicted.logical_and(positive).sum(0)}, 1);
    const int64_t outputs = logits.size(1), bins = score_bins(outputs);
    const at::Tensor scores = logits.to(at::kDouble);
    const at::Tensor bin = scores
                               .div(scores.abs() + 1)  // -1 to 1
                               .add_(1)
                               .mul_(static_cast<double>(bins) / 2)
                               .nan_to_num_(0)  // the loss tells that a model has diverged
                               .to(at::kLong)
                               .clamp_(0, bins - 1);
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

class BinaryCrossEntropyOperations final : public LossOperations {
 public:
  using LossOperations::LossOperations;

  // Of a logit x and a target t: max(x, 0) - x t + log(1 + exp(-|x|)).
  RowLosses rows(const Value& targets) override {
    const Value hard = as_matrix(targets);
    const double smoothing = train_.label_smoothing;
    const Value soft = smoothing > 0 ? hard * (1 - smoothing) + smoothing / 2 : hard;
    const Value below = builder_.apply("exponential", -builder_.apply("abs", outputs_));
    const Value product = outputs_ * soft;
    const Value linear = builder_.apply("maximum", outputs_, constant(0)) - product;
    Value losses = linear + builder_.apply("log_plus_one", below);
    Value gradient = (builder_.apply("logistic", outputs_) - soft) / static_cast<double>(outputs_.size(1));
    if (!class_weights().empty()) {
      const Value weight = hard * (class_weights()[1] - class_weights()[0]) + class_weights()[0];
      losses = losses * weight;
      gradient = gradient * weight;
    }
    return {mean(losses), gradient};
  }

  std::vector<Value> sums(const Value& targets) override {
    const Value wanted = as_matrix(targets);
    const Value positive = builder_.compare("GT", wanted, constant(0.5));
    const Value predicted = builder_.compare("GT", outputs_, constant(0));
    const Value wrong = builder_.apply("xor", predicted, positive);
    return {mean(1 - indicator(wrong)), total(indicator(builder_.apply("and", predicted, positive))),
            total(indicator(predicted)), total(indicator(positive))};
  }

 private:
  // Classes 0 and 1 are targets of the one output.
  Value as_matrix(const Value& targets) const {
    if (targets.rank() == 2) return targets;
    return builder_.reshape(builder_.convert(targets, outputs_.element), outputs_.shape);
  }
};

}  // namespace

const LossKind kBinaryCrossEntropy =
    loss_kind<BinaryCrossEntropy, BinaryCrossEntropyOperations>("binary_cross_entropy");

}  // namespace dtrain
