#include "stablehlo/loss_lowering.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "core/error.h"

namespace dtrain {
namespace {

// The loss of each row [rows] and its gradient [rows, outputs].
struct RowLosses {
  Value losses;
  Value gradient;
};

// Numbers in place of a condition.
Value as_numbers(const Value& condition, const std::string& element) {
  return condition.builder->convert(condition, element);
}

Value along_rows(const Value& of_rows, const Value& outputs) {
  return outputs.builder->broadcast(of_rows, {0}, outputs.shape);
}

// One loss: what it is of each row for some targets, and each row's part of the sums that it has besides,
// [rows], or [rows, outputs] where each output has a sum of its own.
class LossLowering {
 public:
  LossLowering(const TrainSpec& train, const Value& outputs)
      : train_(train), outputs_(outputs), builder_(*outputs.builder) {}
  virtual ~LossLowering() = default;
  virtual RowLosses rows(const Value& targets) = 0;
  virtual std::vector<Value> sums(const Value& targets) = 0;

 protected:
  Value number(double number) const { return builder_.like(outputs_, number); }
  Value mean(const Value& of_outputs) const {
    return builder_.sum(of_outputs, {1}) / static_cast<double>(outputs_.size(1));
  }
  Value total(const Value& of_outputs) const { return builder_.sum(of_outputs, {1}); }
  const std::vector<double>& class_weights() const { return train_.loss.class_weights.weights; }

  const TrainSpec& train_;
  Value outputs_;
  TextBuilder& builder_;
};

class LoweredCrossEntropy final : public LossLowering {
 public:
  LoweredCrossEntropy(const TrainSpec& train, const Value& outputs) : LossLowering(train, outputs) {
    const Value most = builder_.maximum(outputs, {1});
    shifted_ = outputs - along_rows(most, outputs);
    const Value powers = builder_.apply("exponential", shifted_);
    const Value sum = builder_.sum(powers, {1});
    logarithms_ = shifted_ - along_rows(builder_.apply("log", sum), outputs);
    probabilities_ = powers / along_rows(sum, outputs);
    numbers_ = builder_.iota("i32", outputs.shape, 1);
    most_ = along_rows(most, outputs);
  }

  RowLosses rows(const Value& targets) override {
    const double smoothing = train_.label_smoothing;
    const auto classes = static_cast<double>(outputs_.size(1));
    const Value is_target = builder_.compare("EQ", numbers_, along_rows(targets, numbers_));
    const Value own = total(builder_.select(is_target, logarithms_, number(0)));
    Value losses = -own;
    Value wanted = as_numbers(is_target, outputs_.element);
    if (smoothing > 0) {
      const Value rest = total(logarithms_) * (smoothing / classes);
      losses = losses * (1 - smoothing) - rest;
      wanted = wanted * (1 - smoothing) + smoothing / classes;
    }
    const Value gradient = probabilities_ - wanted;
    if (class_weights().empty()) return {losses, gradient};
    const Value weights =
        builder_.constants(class_weights(), outputs_.element, {std::ssize(class_weights())});
    const Value of_outputs = builder_.broadcast(weights, {1}, outputs_.shape);
    const Value weight = total(builder_.select(is_target, of_outputs, number(0)));
    return {losses * weight, gradient * along_rows(weight, outputs_)};
  }

  // As LibTorch's argmax: the first largest output, or the first that is not a number.
  std::vector<Value> sums(const Value& targets) override {
    const Value is_none = builder_.compare("NE", outputs_, outputs_);
    const Value is_most = builder_.apply("or", builder_.compare("EQ", outputs_, most_), is_none);
    const Value none = builder_.like(numbers_, static_cast<double>(outputs_.size(1)));
    const Value predicted = builder_.minimum(builder_.select(is_most, numbers_, none), {1});
    return {as_numbers(builder_.compare("EQ", predicted, targets), outputs_.element)};
  }

 private:
  Value most_, shifted_, logarithms_, probabilities_;
  Value numbers_;  // of the outputs
};

class LoweredBinaryCrossEntropy final : public LossLowering {
 public:
  using LossLowering::LossLowering;

  // Of a logit x and a target t: max(x, 0) - x t + log(1 + exp(-|x|)).
  RowLosses rows(const Value& targets) override {
    const Value hard = of_outputs(targets);
    const double smoothing = train_.label_smoothing;
    const Value soft = smoothing > 0 ? hard * (1 - smoothing) + smoothing / 2 : hard;
    const Value below = builder_.apply("exponential", -builder_.apply("abs", outputs_));
    const Value product = outputs_ * soft;
    const Value linear = builder_.apply("maximum", outputs_, number(0)) - product;
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
    const Value wanted = of_outputs(targets);
    const Value positive = builder_.compare("GT", wanted, number(0.5));
    const Value predicted = builder_.compare("GT", outputs_, number(0));
    const auto as_number = [this](const Value& condition) { return as_numbers(condition, outputs_.element); };
    const Value wrong = builder_.apply("xor", predicted, positive);
    return {mean(1 - as_number(wrong)), total(as_number(builder_.apply("and", predicted, positive))),
            total(as_number(predicted)), total(as_number(positive))};
  }

 private:
  // Classes 0 and 1 are targets of the one output.
  Value of_outputs(const Value& targets) const {
    if (targets.rank() == 2) return targets;
    return builder_.reshape(builder_.convert(targets, outputs_.element), outputs_.shape);
  }
};

class LoweredRegression final : public LossLowering {
 public:
  using LossLowering::LossLowering;

  RowLosses rows(const Value& targets) override {
    const Value error = outputs_ - targets;
    const Value size = builder_.apply("abs", error), sign = builder_.apply("sign", error);
    const auto outputs = static_cast<double>(outputs_.size(1));
    if (train_.loss.kind == "mean_squared_error") return {mean(error * error), error * (2 / outputs)};
    if (train_.loss.kind == "mean_absolute_error") return {mean(size), sign / outputs};
    const double delta = train_.loss.delta;
    const Value is_near = builder_.compare("LT", size, number(delta));
    const Value square = error * error * 0.5;
    const Value losses = builder_.select(is_near, square, (size - delta / 2) * delta);
    return {mean(losses), builder_.select(is_near, error, sign * delta) / outputs};
  }

  std::vector<Value> sums(const Value& targets) override {
    const Value error = outputs_ - targets;
    return {error * error, builder_.apply("abs", error)};
  }
};

template <class Loss>
std::unique_ptr<LossLowering> make(const TrainSpec& train, const Value& outputs) {
  return std::make_unique<Loss>(train, outputs);
}

using MakeLoss = std::unique_ptr<LossLowering> (*)(const TrainSpec& train, const Value& outputs);

MakeLoss find_loss(const std::string& kind) {
  static const std::vector<std::pair<std::string, MakeLoss>> table = {
      {"cross_entropy", make<LoweredCrossEntropy>},
      {"binary_cross_entropy", make<LoweredBinaryCrossEntropy>},
      {"mean_squared_error", make<LoweredRegression>},
      {"mean_absolute_error", make<LoweredRegression>},
      {"huber", make<LoweredRegression>},
  };
  for (const auto& [name, maker] : table) {
    if (name == kind) return maker;
  }
  return nullptr;
}

}  // namespace

bool is_loss_lowered(const std::string& kind) { return find_loss(kind) != nullptr; }

LoweredLoss lower_loss(const TrainSpec& train, const LossInputs& inputs) {
  TextBuilder& builder = *inputs.outputs.builder;
  const MakeLoss maker = find_loss(train.loss.kind);
  if (maker == nullptr)
    throw Error(ExitCode::kBug, fmt::format("the loss {} is not lowered", train.loss.kind));
  const auto loss = maker(train, inputs.outputs);
  RowLosses rows = loss->rows(inputs.targets);
  if (inputs.other_targets) {
    const RowLosses others = loss->rows(inputs.other_targets);
    const Value rest = 1 - inputs.shares;
    const Value loss_share = others.losses * rest;
    rows.losses = rows.losses * inputs.shares + loss_share;
    const Value gradient_share = others.gradient * along_rows(rest, rows.gradient);
    rows.gradient = rows.gradient * along_rows(inputs.shares, rows.gradient) + gradient_share;
  }
  // Chosen, not multiplied: what fills up adds nothing even where its loss is not finite.
  const Value counts = builder.compare("GT", inputs.weights, builder.like(inputs.weights, 0));
  const Value nothing = builder.like(inputs.weights, 0);
  std::vector<Value> parts = {rows.losses, inputs.weights};
  for (const Value& part : loss->sums(inputs.targets)) parts.push_back(part);
  std::vector<Value> sums;
  for (const Value& part : parts) {
    if (part.rank() == 1) {
      sums.push_back(builder.reshape(builder.sum(builder.select(counts, part, nothing), {0}), {1}));
    } else {
      const Value none = builder.like(part, 0);
      sums.push_back(builder.sum(builder.select(along_rows(counts, part), part, none), {0}));
    }
  }
  return {rows.gradient * along_rows(inputs.weights / inputs.examples, rows.gradient),
          builder.concatenate(sums, 0)};
}

}  // namespace dtrain
