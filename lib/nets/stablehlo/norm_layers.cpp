// Layers that normalise: over the rows of a batch, or over the channels of an example.
#include <array>
#include <cstdint>
#include <vector>

#include "stablehlo/layer_lowering.h"

namespace dtrain {
namespace {

constexpr int64_t kChannels = 1;  // their dimension

// All dimensions but the channels'.
std::vector<int64_t> but_channels(const Value& input) {
  return input.rank() == 2 ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 2, 3};
}

Value along_channels(const Value& of_channels, const Value& input) {
  return input.builder->broadcast(of_channels, {kChannels}, input.shape);
}

// With the layer's `weight` and `bias`.
Value scaled(const LayerUse& use, const Value& normalised) {
  const Value larger = normalised * along_channels(use.variable("weight"), normalised);
  return larger + along_channels(use.variable("bias"), normalised);
}

// Notes the gradients of `weight` and `bias`, which it returns.
std::array<Value, 2> learn_scale(const LayerUse& use, const Value& gradient, const Value& normalised) {
  TextBuilder& builder = use.builder();
  const Value weight = builder.sum(gradient * normalised, but_channels(gradient));
  const Value bias = builder.sum(gradient, but_channels(gradient));
  use.learn("weight", weight);
  use.learn("bias", bias);
  return {weight, bias};
}

// The statistics of the rows that count, of this device or, synchronised, of all.
struct BatchMoments {
  Value rows;     // [rows, ...]: 1, or 0 for those that fill up
  Value count;    // a number: how many numbers of a channel
  Value divisor;  // the same, or 1 if there are none
  Value mean;     // [channels]
  Value variance;
};

BatchMoments moments_of(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value& input = use.input;
  const std::vector<int64_t> others = but_channels(input);
  const auto total = [&](const std::vector<Value>& values) {
    return use.scope.synchronised ? builder.all_reduce(values) : values;
  };
  BatchMoments moments;
  moments.rows = builder.broadcast(use.scope.weights, {0}, input.shape);
  int64_t cells = 1;
  for (size_t i = 1; i < use.layer.input_shape.size(); ++i) cells *= use.layer.input_shape[i];
  const std::vector<Value> sums = total({builder.sum(use.scope.weights, {0}) * static_cast<double>(cells),
                                         builder.sum(input * moments.rows, others)});
  moments.count = sums[0];
  moments.divisor = builder.apply("maximum", moments.count, builder.like(moments.count, 1));
  moments.mean = sums[1] / moments.divisor;
  const Value centred = input - along_channels(moments.mean, input);
  moments.variance = total({builder.sum(centred * centred * moments.rows, others)})[0] / moments.divisor;
  return moments;
}

// The moving statistics come nearer to the batch's, unless it has no rows.
void move(const LayerUse& use, const BatchMoments& moments) {
  TextBuilder& builder = use.builder();
  const Value counts = builder.compare("GT", moments.count, builder.like(moments.count, 0));
  const auto near = [&](const char* name, const Value& batch) {
    const Value old = use.variable(name);
    const Value changed = old + (batch - old) * (1 - use.layer.spec.momentum);
    use.scope.moved[use.layer.name + "." + name] = builder.select(counts, changed, old);
  };
  near("running_mean", moments.mean);
  near("running_var", moments.variance);
}

// With the moving statistics, which stay as they are.
LoweredLayer fixed_batch_norm(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value inverse = builder.apply("rsqrt", use.variable("running_var") + use.layer.spec.epsilon);
  const Value centred = use.input - along_channels(use.variable("running_mean"), use.input);
  const Value scale = inverse * use.variable("weight");
  const Value scaled_only = centred * along_channels(scale, centred);
  const Value output = scaled_only + along_channels(use.variable("bias"), centred);
  return {output,
          [scale](const Value& gradient, bool) { return gradient * along_channels(scale, gradient); }};
}

}  // namespace

// With x the normalised input: dx = weight / deviation (dy - mean(dy) - x mean(dy x)), the means over the
// rows that count (Ioffe and Szegedy 2015, arXiv:1502.03167, section 3).
LoweredLayer lower_batch_norm(const LayerUse& use) {
  if (!use.trained) return fixed_batch_norm(use);
  TextBuilder& builder = use.builder();
  const BatchMoments moments = moments_of(use);
  move(use, moments);
  const Value inverse = builder.apply("rsqrt", moments.variance + use.layer.spec.epsilon);
  const Value centred = use.input - along_channels(moments.mean, use.input);
  const Value normalised = centred * along_channels(inverse, use.input);
  return {scaled(use, normalised),
          [use, moments, inverse, normalised, &builder](const Value& gradient, bool wants_input) -> Value {
            const auto [weight, bias] = learn_scale(use, gradient, normalised);
            if (!wants_input) return {};
            std::vector<Value> sums = {weight, bias};
            if (use.scope.synchronised) sums = builder.all_reduce(sums);
            const Value centred = gradient - along_channels(sums[1] / moments.divisor, gradient);
            const Value rest = centred - normalised * along_channels(sums[0] / moments.divisor, gradient);
            return rest * along_channels(inverse * use.variable("weight"), gradient) * moments.rows;
          }};
}

// Like batch_norm's, with means over the channels (Ba et al. 2016, arXiv:1607.06450).
LoweredLayer lower_layer_norm(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value& input = use.input;
  const std::vector<int64_t> others = but_channels(input);
  const auto mean = [&builder, others](const Value& value) {
    const Value means = builder.sum(value, {kChannels}) / static_cast<double>(value.size(kChannels));
    return builder.broadcast(means, others, value.shape);
  };
  const Value centred = input - mean(input);
  const Value inverse = builder.apply("rsqrt", mean(centred * centred) + use.layer.spec.epsilon);
  const Value normalised = centred * inverse;
  return {scaled(use, normalised),
          [use, inverse, normalised, mean](const Value& gradient, bool wants_input) -> Value {
            if (use.trained) learn_scale(use, gradient, normalised);
            if (!wants_input) return {};
            const Value arrived = gradient * along_channels(use.variable("weight"), gradient);
            const Value centred = arrived - mean(arrived);
            return (centred - normalised * mean(arrived * normalised)) * inverse;
          }};
}

}  // namespace dtrain
