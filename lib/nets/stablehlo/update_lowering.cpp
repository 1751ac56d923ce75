#include "stablehlo/update_lowering.h"

#include <cmath>

#include "core/error.h"
#include "optim/weight_average.h"

namespace dtrain {
namespace {

constexpr const char* kMomentum = "momentum";
constexpr const char* kAverage = "average";
constexpr const char* kSquareAverage = "square_average";

// The gradient, with weight decay where it is part of it.
Value decayed_gradient(const OptimizerSpec& spec, const UpdatedParameter& one) {
  if (spec.weight_decay == 0 || !one.decays) return one.gradient;
  return one.gradient + one.parameter * spec.weight_decay;
}

// 1 - beta^step, without the loss of digits that the difference would have in 32 bits.
Value correction(const Value& step, double beta) {
  if (beta == 0) return step.builder->like(step, 1);
  return -step.builder->apply("exponential_minus_one", step * std::log(beta));
}

}  // namespace

bool is_optimizer_lowered(const std::string& kind) {
  return kind == "sgd" || kind == "rmsprop" || kind == "adam" || kind == "adamw";
}

LoweredUpdate::LoweredUpdate(const TrainSpec& train, const Value& step, const Value& learning_rate)
    : train_(train), builder_(*step.builder), learning_rate_(learning_rate) {
  const OptimizerSpec& spec = train.optimizer;
  if (!is_optimizer_lowered(spec.kind)) throw Error(ExitCode::kBug, "the optimizer is not lowered");
  if (spec.kind != "adam" && spec.kind != "adamw") return;
  rate_ = learning_rate / correction(step, spec.beta1);
  root_ = builder_.apply("rsqrt", correction(step, spec.beta2));
}

void LoweredUpdate::update(UpdatedParameter& one) const {
  const std::string& kind = train_.optimizer.kind;
  if (kind == "sgd") sgd(one);
  if (kind == "rmsprop") rmsprop(one);
  if (kind == "adam" || kind == "adamw") adam(one, /*decoupled=*/kind == "adamw");
  if (train_.ema.decay > 0) {
    Value& average = one.memory.at(WeightAverage::kMemory);
    average = average + (one.parameter - average) * (1 - train_.ema.decay);
  }
}

void LoweredUpdate::sgd(UpdatedParameter& one) const {
  const OptimizerSpec& spec = train_.optimizer;
  const Value gradient = decayed_gradient(spec, one);
  Value change = gradient;
  if (spec.momentum != 0) {
    Value& momentum = one.memory.at(kMomentum);
    momentum = momentum * spec.momentum + gradient;
    change = spec.nesterov ? gradient + momentum * spec.momentum : momentum;
  }
  one.parameter = one.parameter - learning_rate_ * change;
}

void LoweredUpdate::rmsprop(UpdatedParameter& one) const {
  const OptimizerSpec& spec = train_.optimizer;
  const Value gradient = decayed_gradient(spec, one);
  Value& squares = one.memory.at(kSquareAverage);
  const Value square = gradient * gradient * (1 - spec.decay);
  squares = squares * spec.decay + square;
  Value change = gradient / (builder_.apply("sqrt", squares) + spec.epsilon);
  if (spec.momentum != 0) {
    Value& momentum = one.memory.at(kMomentum);
    momentum = momentum * spec.momentum + change;
    change = momentum;
  }
  one.parameter = one.parameter - learning_rate_ * change;
}

void LoweredUpdate::adam(UpdatedParameter& one, bool decoupled) const {
  const OptimizerSpec& spec = train_.optimizer;
  const Value gradient = decoupled ? one.gradient : decayed_gradient(spec, one);
  Value& average = one.memory.at(kAverage);
  Value& squares = one.memory.at(kSquareAverage);
  average = average + (gradient - average) * (1 - spec.beta1);
  const Value square = gradient * gradient * (1 - spec.beta2);
  squares = squares * spec.beta2 + square;
  const bool shrinks = decoupled && spec.weight_decay != 0 && one.decays;
  const Value kept = shrinks ? one.parameter * (1 - learning_rate_ * spec.weight_decay) : one.parameter;
  const Value root = builder_.apply("sqrt", squares) * root_ + spec.epsilon;
  one.parameter = kept - rate_ * average / root;
}

}  // namespace dtrain
