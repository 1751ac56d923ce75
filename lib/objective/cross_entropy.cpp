#include "objective/cross_entropy.h"

#include <ATen/ATen.h>

namespace dtrain {
namespace {

class CrossEntropy : public Objective {
 public:
  explicit CrossEntropy(const TrainSpec& train)
      : Objective(objective_info("cross_entropy")), label_smoothing_(train.label_smoothing) {}

  at::Tensor training_loss(const at::Tensor& logits, const at::Tensor& targets) const override {
    return loss(logits, targets, label_smoothing_);
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

 private:
  static at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets, double label_smoothing) {
    return at::cross_entropy_loss(logits, targets, /*weight=*/{}, at::Reduction::Sum, /*ignore_index=*/-100,
                                  label_smoothing);
  }

  double label_smoothing_;
};

}  // namespace

std::unique_ptr<Objective> make_cross_entropy(const TrainSpec& train) {
  return std::make_unique<CrossEntropy>(train);
}

}  // namespace dtrain
