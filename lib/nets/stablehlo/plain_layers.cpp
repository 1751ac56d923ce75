// Layers without windows: products, activations, dropout.
#include <cmath>

#include "stablehlo/layer_lowering.h"

namespace dtrain {
namespace {

// 0 where `condition` holds, as the gradient where an activation is flat; a condition on not-a-number does
// not.
Value zero_where(const Value& condition, const Value& gradient) {
  TextBuilder& builder = *gradient.builder;
  return builder.select(condition, builder.like(gradient, 0), gradient);
}

}  // namespace

LoweredLayer lower_dense(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value input = use.operand(use.input);
  const Value weight = use.operand(use.variable("weight"));  // [units, features]
  Value output = builder.product(input, 1, weight, 1);
  if (use.layer.spec.use_bias) output = output + builder.broadcast(use.variable("bias"), {1}, output.shape);
  return {use.operand(output),
          [use, input, weight, &builder](const Value& gradient, bool wants_input) -> Value {
            if (use.trained) use.learn("weight", builder.product(gradient, 0, input, 0));
            if (use.trained && use.layer.spec.use_bias) use.learn("bias", use.bias_gradient(gradient, {0}));
            return wants_input ? builder.product(gradient, 1, weight, 0) : Value{};
          }};
}

LoweredLayer lower_flatten(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  return {builder.reshape(use.input, use.output_shape()), [use, &builder](const Value& gradient, bool) {
            return builder.reshape(gradient, use.input.shape);
          }};
}

// What is drawn is a function of the step, the device, the layer and the place of the element alone.
LoweredLayer lower_dropout(const LayerUse& use) {
  const double rate = use.layer.spec.rate;
  if (!use.scope.training || rate == 0)
    return {use.input, [](const Value& gradient, bool) { return gradient; }};
  TextBuilder& builder = use.builder();
  const double first = kDrawsOfLayer * static_cast<double>(use.number);
  const Value state =
      builder.concatenate({use.scope.key, use.scope.first_draw + builder.constant(first, "ui64", {1})}, 0);
  const Value bits = builder.random_bits(state, use.input.shape);
  const Value bound = builder.constant(std::floor(std::ldexp(rate, 32)), "ui32", bits.shape);
  const Value dropped = builder.compare("LT", bits, bound);
  const auto drop = [dropped, rate](const Value& value) {
    return zero_where(dropped, value * (1 / (1 - rate)));
  };
  return {drop(use.input), [drop](const Value& gradient, bool) { return drop(gradient); }};
}

LoweredLayer lower_relu(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value output = builder.apply("maximum", use.input, builder.like(use.input, 0));
  return {output, [output, &builder](const Value& gradient, bool) {
            return zero_where(builder.compare("LE", output, builder.like(output, 0)), gradient);
          }};
}

LoweredLayer lower_relu6(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value zero = builder.like(use.input, 0), six = builder.like(use.input, 6);
  const Value output = builder.apply("minimum", builder.apply("maximum", use.input, zero), six);
  return {output, [output, zero, six, &builder](const Value& gradient, bool) {
            const Value rising = zero_where(builder.compare("LE", output, zero), gradient);
            return zero_where(builder.compare("GE", output, six), rising);
          }};
}

// x Phi(x), with the normal distribution's Phi(x) = (1 + erf(x / sqrt(2))) / 2; its slope is Phi(x) + x
// phi(x).
LoweredLayer lower_gelu(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value share = (builder.error_function(use.input * std::sqrt(0.5)) + 1) * 0.5;
  return {use.input * share, [use, share, &builder](const Value& gradient, bool) {
            const Value density =
                builder.apply("exponential", use.input * use.input * -0.5) * (1 / std::sqrt(2 * M_PI));
            return gradient * (share + use.input * density);
          }};
}

LoweredLayer lower_tanh(const LayerUse& use) {
  const Value output = use.builder().apply("tanh", use.input);
  return {output, [output](const Value& gradient, bool) { return gradient * (1 - output * output); }};
}

LoweredLayer lower_sigmoid(const LayerUse& use) {
  const Value output = use.builder().apply("logistic", use.input);
  return {output, [output](const Value& gradient, bool) { return gradient * (output * (1 - output)); }};
}

}  // namespace dtrain
