// Softmax cross-entropy of logits [n, classes] and the index of each example's class, int64 [n].
//
// With train.label_smoothing e, the target of an example is 1 - e for its class plus e / classes for every
// class (Szegedy et al. 2016, arXiv:1512.00567, section 7). With train.loss.class_weights, training
// multiplies the loss of an example by the weight of its class; the sum is still divided by the number of
// examples.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "core/error.h"
#include "kernels/softmax_loss.h"
#include "objective/loss_operations.h"

namespace dtrain {
namespace {

void require_classes(const at::Tensor& targets, int64_t classes) {
  const int64_t* const all = targets.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < targets.numel(); ++i) {
    if (all[i] < 0 || all[i] >= classes)
      throw Error(ExitCode::kBug, "an example of class {} in a model of {} classes", all[i], classes);
  }
}

class CrossEntropy : public Objective {
 public:
  explicit CrossEntropy(const TrainSpec& train)
      : Objective(objective_info("cross_entropy")), label_smoothing_(train.label_smoothing) {
    const std::vector<double>& weights = train.loss.class_weights.weights;
    if (!weights.empty()) weights_ = at::tensor(weights, at::kDouble);
    for (const double weight : weights) kernel_weights_.push_back(static_cast<float>(weight));
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
  at::Tensor evaluation_losses(const at::Tensor& logits, const at::Tensor& targets) const override {
    return loss(logits, targets, /*label_smoothing=*/0, at::Reduction::None);
  }
  std::optional<std::vector<double>> run_kernel(const at::Tensor& logits, const at::Tensor& targets,
                                                double scale, const at::Tensor& gradient) const override {
    const int64_t examples = logits.size(0), classes = logits.size(1);
    const at::Tensor labels = targets.contiguous();
    require_classes(labels, classes);
    const SoftmaxLoss loss{classes, static_cast<float>(label_smoothing_),
                           kernel_weights_.empty() ? nullptr : kernel_weights_.data()};
    const SoftmaxSums sums =
        softmax_loss(loss, examples, logits.const_data_ptr<float>(), labels.const_data_ptr<int64_t>(),
                     static_cast<float>(scale), gradient.mutable_data_ptr<float>());
    return {{sums.loss, static_cast<double>(examples), static_cast<double>(sums.hits)}};
  }
  DevicePass device_pass(const at::Tensor& logits, const at::Tensor& targets, double scale) const override {
    if (label_smoothing_ != 0 || weights_.defined() || logits.size(1) > kMostClassesAtOnce) return {};
    const PassMemory& memory = memory_for(logits, scale);
    const at::Tensor logarithms = logits.log_softmax(1);
    at::Tensor own = memory.by_example.select(0, kLossSum).unsqueeze(1);
    at::gather_out(own, logarithms, 1, targets.unsqueeze(1));
    at::Tensor hits = memory.by_example.select(0, kHits);
    at::eq_out(hits, logits.argmax(1), targets);
    // The sums of magnitudes: a logarithm of a probability is the loss but for its sign.
    return {at::_log_softmax_backward_data(memory.slopes.index_select(0, targets), logarithms, 1,
                                           logits.scalar_type()),
            at::linalg_vector_norm(memory.by_example, 1, at::IntArrayRef{1})};
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
  at::Tensor predictions(const at::Tensor& logits, bool /*classes*/) const override {
    return logits.softmax(1);
  }
  at::Tensor count(const at::Tensor& logits, const at::Tensor& targets) const override {
    const at::Tensor predicted = logits.argmax(1);
    const at::Tensor own = logits.gather(1, targets.unsqueeze(1));
    const at::Tensor is_above = logits.le(own).logical_not();  // or one of both is not-a-number
    const at::Tensor in_top = is_above.sum(1).lt(kTop);
    const auto by_class = [&](const at::Tensor& labels) { return at::bincount(labels, {}, logits.size(1)); };
    return at::stack(
        {by_class(targets), by_class(predicted), by_class(targets.masked_select(predicted.eq(targets))),
         by_class(targets.masked_select(in_top))},
        1);
  }

 private:
  static constexpr int64_t kMostClassesAtOnce = 1024;  // PassMemory::slopes has their square
  static constexpr int64_t kHits = kExamplesSum + 1;

  // What device_pass() keeps so as not to make it in every step.
  struct PassMemory {
    at::Tensor slopes;      // [classes, classes]: -scale where the class is the target, else 0
    at::Tensor by_example;  // [sums, n]: of each example its part of the sums; of the number of examples, 1
  };

  const PassMemory& memory_for(const at::Tensor& logits, double scale) const {
    PassMemory& memory = memories_[{logits.size(0), scale}];
    if (!memory.slopes.defined()) {
      memory.slopes = at::eye(logits.size(1), logits.options()).mul_(-scale);
      memory.by_example = at::ones({kHits + 1, logits.size(0)}, logits.options());
    }
    return memory;
  }

  static at::Tensor loss(const at::Tensor& logits, const at::Tensor& targets, double label_smoothing,
                         at::Reduction::Reduction reduction = at::Reduction::Sum) {
    return at::cross_entropy_loss(logits, targets, /*weight=*/{}, reduction, /*ignore_index=*/-100,
                                  label_smoothing);
  }

  double label_smoothing_;
  mutable at::Tensor weights_;                                         // [classes]; undefined: all the same
  std::vector<float> kernel_weights_;                                  // the same for the kernel
  mutable std::map<std::pair<int64_t, double>, PassMemory> memories_;  // by examples and scale
};

class CrossEntropyOperations final : public LossOperations {
 public:
  CrossEntropyOperations(const TrainSpec& train, const Value& outputs) : LossOperations(train, outputs) {
    const Value most = builder_.maximum(outputs, {1});
    shifted_ = outputs - along_rows(most, outputs);
    const Value powers = builder_.apply("exponential", shifted_);
    const Value sum = builder_.sum(powers, {1});
    logarithms_ = shifted_ - along_rows(builder_.apply("log", sum), outputs);
    probabilities_ = powers / along_rows(sum, outputs);
    classes_ = builder_.iota("i32", outputs.shape, 1);
    most_ = along_rows(most, outputs);
  }

  RowLosses rows(const Value& targets) override {
    const double smoothing = train_.label_smoothing;
    const auto count = static_cast<double>(outputs_.size(1));
    const Value is_target = builder_.compare("EQ", classes_, along_rows(targets, classes_));
    const Value own = total(builder_.select(is_target, logarithms_, constant(0)));
    Value losses = -own;
    Value wanted = indicator(is_target);
    if (smoothing > 0) {
      const Value rest = total(logarithms_) * (smoothing / count);
      losses = losses * (1 - smoothing) - rest;
      wanted = wanted * (1 - smoothing) + smoothing / count;
    }
    const Value gradient = probabilities_ - wanted;
    if (class_weights().empty()) return {losses, gradient};
    const Value weights =
        builder_.constants(class_weights(), outputs_.element, {std::ssize(class_weights())});
    const Value of_outputs = builder_.broadcast(weights, {1}, outputs_.shape);
    const Value weight = total(builder_.select(is_target, of_outputs, constant(0)));
    return {losses * weight, gradient * along_rows(weight, outputs_)};
  }

  // As LibTorch's argmax: the first largest output, or the first that is not a number.
  std::vector<Value> sums(const Value& targets) override {
    const Value is_none = builder_.compare("NE", outputs_, outputs_);
    const Value is_most = builder_.apply("or", builder_.compare("EQ", outputs_, most_), is_none);
    const Value none = builder_.like(classes_, static_cast<double>(outputs_.size(1)));
    const Value predicted = builder_.minimum(builder_.select(is_most, classes_, none), {1});
    return {indicator(builder_.compare("EQ", predicted, targets))};
  }

 private:
  Value most_, shifted_, logarithms_, probabilities_;
  Value classes_;  // 0, 1, ... in each row
};

}  // namespace

const LossKind kCrossEntropy = loss_kind<CrossEntropy, CrossEntropyOperations>("cross_entropy");

}  // namespace dtrain
