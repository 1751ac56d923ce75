// batch_norm, as in Keras 3: in training with the mean and variance of the batch per channel, and
// running = momentum * running + (1 - momentum) * batch. LibTorch's own layer differs: its momentum is one
// minus this one, and its running variance is the unbiased one, which a batch of one example turns into NaN.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "layers/norms.h"

namespace dtrain {
namespace {

LayerSizes place_batch_norm(const LayerSpec&, const Shape& input) {
  if (input.size() != 1 && input.size() != 3)
    return fault(fmt::format("expects an input of [features] or [channels, height, width] but gets {}",
                             to_string(input)));
  return {input, 2 * input[0], 2 * input[0]};
}

class BatchNorm final : public Norm {
 public:
  BatchNorm(const PlacedLayer& layer, WeightMaker& weights)
      : Norm(layer, weights), momentum_(norm_fields(layer).momentum) {
    const Shape channels = {layer.input_shape[0]};
    running_mean_ = register_buffer("running_mean", weights.constant(channels, 0));
    running_var_ = register_buffer("running_var", weights.constant(channels, 1));
  }
  void synchronise(const GatherRows& gather) override { gather_ = gather; }
  void leave_statistics_to(MovingStatistics& all) override { left_to_ = &all; }
  void freeze(bool frozen) override { frozen_ = frozen; }

  at::Tensor forward(const at::Tensor& input) override {
    const bool uses_batch = is_training() && !frozen_;
    if (uses_batch && gather_) return synchronised(input);
    if (!uses_batch || input.size(0) == 0) {
      return at::batch_norm(input, weight_, bias_, running_mean_, running_var_, /*training=*/false,
                            /*momentum=*/0, epsilon_, /*cudnn_enabled=*/true);
    }
    const auto [output, mean, inverse_deviation] =
        at::native_batch_norm(input, weight_, bias_, /*running_mean=*/{}, /*running_var=*/{},
                              /*training=*/true, /*momentum=*/0, epsilon_);
    MovingStatistics own;
    MovingStatistics& statistics = left_to_ != nullptr ? *left_to_ : own;
    statistics.add(running_mean_, running_var_, mean, inverse_deviation, 1 - momentum_, epsilon_);
    own.move();
    return output;
  }

 private:
  at::Tensor synchronised(const at::Tensor& input) {
    BatchStatistics statistics;
    const at::Tensor output = synchronised_norm(input, weight_, bias_, epsilon_, gather_, statistics);
    // With local steps, all examples of a small batch may be other hosts': nothing to come nearer to.
    const at::Tensor any = statistics.count > 0;
    running_mean_.lerp_(at::where(any, statistics.mean, running_mean_), 1 - momentum_);
    running_var_.lerp_(at::where(any, statistics.variance, running_var_), 1 - momentum_);
    return output;
  }

  GatherRows gather_;                    // empty: the statistics are of this replica only
  MovingStatistics* left_to_ = nullptr;  // null: this layer updates its own
  bool frozen_ = false;
  double momentum_;
  at::Tensor running_mean_;
  at::Tensor running_var_;
};

// A batch_norm whose weight is not trained is frozen, or evaluates: it uses its moving statistics. If it is
// synchronised, a replica without examples has the others'.
bool uses_batch(const LayerWork& work) {
  return work.weight_gradient != nullptr && (work.examples > 0 || work.gather);
}

// What forward keeps for backward, and the sums that both backward passes use: [channels] each.
struct BatchNormMemory {
  float* mean;
  float* inverse_deviation;
  float* gradients;  // the sum of the result's
  float* products;   // the sum of the result's gradients times the normalised numbers
  float* factors;    // [3, channels]: by what the passes over all numbers multiply, and what they add
  float* count;      // one number: how many of each channel have this mean
  int64_t channels;

  explicit BatchNormMemory(const LayerWork& work) : channels(work.layer->input_shape[0]) {
    mean = work.kept;
    inverse_deviation = mean + channels;
    gradients = inverse_deviation + channels;
    products = gradients + channels;
    factors = products + channels;
    count = factors + 3 * channels;
  }
  static int64_t size(const LayerWork& work) { return 7 * work.layer->input_shape[0] + 1; }
};

// The statistics of the batch or, synchronised, of those of all replicas; the moving ones come nearer to
// them.
void take_statistics(const LayerWork& work, const BatchNormMemory& memory, float epsilon) {
  const ChannelSize size = channel_size(work);
  const int64_t count = size.numbers_of_channel();
  float* const variances = memory.factors;  // in memory whose own values are computed later
  *memory.count = static_cast<float>(count);
  if (work.gather) {
    channel_deviations(size, work.input, memory.mean, variances);
    *memory.count =
        static_cast<float>(join_statistics(work.gather, memory.channels, count, memory.mean, variances));
    for (int64_t i = 0; i < memory.channels; ++i)
      memory.inverse_deviation[i] = 1 / std::sqrt(variances[i] + epsilon);
  } else {
    channel_statistics(size, work.input, epsilon, memory.mean, memory.inverse_deviation);
    for (int64_t i = 0; i < memory.channels; ++i) {
      const float inverse = memory.inverse_deviation[i];
      variances[i] = std::max(1 / (inverse * inverse) - epsilon, 0.0F);
    }
  }
  if (*memory.count == 0) return;  // on no replica of this host
  float* const moving_mean = work.moving_mean.mutable_data_ptr<float>();
  float* const moving_variance = work.moving_variance.mutable_data_ptr<float>();
  const auto weight = static_cast<float>(1 - norm_fields(*work.layer).momentum);
  for (int64_t i = 0; i < memory.channels; ++i) {
    moving_mean[i] += weight * (memory.mean[i] - moving_mean[i]);
    moving_variance[i] += weight * (variances[i] - moving_variance[i]);
  }
}

void batch_norm(const LayerWork& work) {
  const BatchNormMemory memory(work);
  const auto epsilon = static_cast<float>(norm_fields(*work.layer).epsilon);
  if (uses_batch(work)) {
    take_statistics(work, memory, epsilon);
  } else {
    const float* const variance = work.moving_variance.const_data_ptr<float>();
    std::copy_n(work.moving_mean.const_data_ptr<float>(), memory.channels, memory.mean);
    for (int64_t i = 0; i < memory.channels; ++i)
      memory.inverse_deviation[i] = 1 / std::sqrt(variance[i] + epsilon);
  }
  float *const scales = memory.factors, *const shifts = scales + memory.channels;
  const float *const weight = work.weight_data(), *const bias = work.bias_data();
  for (int64_t i = 0; i < memory.channels; ++i) {
    scales[i] = weight[i] * memory.inverse_deviation[i];
    shifts[i] = bias[i] - memory.mean[i] * scales[i];
  }
  scale_channels(channel_size(work), work.input, scales, shifts, work.output);
}

void batch_norm_backward_weights(const LayerWork& work, bool adds) {
  const BatchNormMemory memory(work);
  sum_channels(channel_size(work), work.output_gradient, memory.gradients);
  sum_normalised(channel_size(work), work.output_gradient, work.input, memory.mean, memory.inverse_deviation,
                 memory.products);
  for (int64_t i = 0; i < memory.channels; ++i) {
    work.weight_gradient[i] = (adds ? work.weight_gradient[i] : 0) + memory.products[i];
    work.bias_gradient[i] = (adds ? work.bias_gradient[i] : 0) + memory.gradients[i];
  }
  // Here, because the reducer may send these gradients first once it has them, and the input's would wait.
  if (work.gather && work.input_gradient != nullptr)
    join_sums(work.gather, 2 * memory.channels, memory.gradients);  // and the products, which follow
}

// With the statistics of the batch, which depend on the input, what Ioffe and Szegedy (2015,
// arXiv:1502.03167, section 3) derive: dx = scale * (dy - mean(dy) - normalised * mean(dy * normalised)).
void batch_norm_backward_input(const LayerWork& work) {
  const BatchNormMemory memory(work);
  const float count = uses_batch(work) ? *memory.count : 0;
  float *const of_gradient = memory.factors, *const of_input = of_gradient + memory.channels,
               *const shifts = of_input + memory.channels;
  const float* const weight = work.weight_data();
  for (int64_t i = 0; i < memory.channels; ++i) {
    of_gradient[i] = weight[i] * memory.inverse_deviation[i];
    of_input[i] = 0;
    shifts[i] = 0;
    if (!uses_batch(work)) continue;
    of_input[i] = -of_gradient[i] * memory.inverse_deviation[i] * memory.products[i] / count;
    shifts[i] = -of_gradient[i] * memory.gradients[i] / count - memory.mean[i] * of_input[i];
  }
  combine_channels(channel_size(work), work.output_gradient, of_gradient, work.input, of_input, shifts,
                   work.input_gradient);
}

const LayerPasses kBatchNormPasses = {.forward = batch_norm,
                                      .backward_input = batch_norm_backward_input,
                                      .backward_weights = batch_norm_backward_weights,
                                      .layout = ImageLayout::kEither,
                                      .kept = BatchNormMemory::size};

void batch_norm_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  std::vector<std::string> inputs;
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    inputs.push_back(graph.variable(layer, name));
  graph.add("BatchNormalization", layer.name, inputs,
            {onnx_attribute("epsilon", static_cast<float>(norm_fields(layer).epsilon))});
}

std::string batch_norm_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  return fmt::format("torch.batch_norm(x, {}, {}, {}, {}, False, 0.0, {:#}, True)", names(layer, "weight"),
                     names(layer, "bias"), names(layer, "running_mean"), names(layer, "running_var"),
                     norm_fields(layer).epsilon);
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
    const Value changed = old + (batch - old) * (1 - norm_fields(use.layer).momentum);
    use.scope.moved[use.layer.name + "." + name] = builder.select(counts, changed, old);
  };
  near("running_mean", moments.mean);
  near("running_var", moments.variance);
}

// With the moving statistics, which stay as they are.
LoweredLayer fixed_batch_norm(const LayerUse& use) {
  TextBuilder& builder = use.builder();
  const Value inverse = builder.apply("rsqrt", use.variable("running_var") + norm_fields(use.layer).epsilon);
  const Value centred = use.input - along_channels(use.variable("running_mean"), use.input);
  const Value scale = inverse * use.variable("weight");
  const Value scaled_only = centred * along_channels(scale, centred);
  const Value output = scaled_only + along_channels(use.variable("bias"), centred);
  return {output,
          [scale](const Value& gradient, bool) { return gradient * along_channels(scale, gradient); }};
}

// With x the normalised input: dx = weight / deviation (dy - mean(dy) - x mean(dy x)), the means over the
// rows that count (Ioffe and Szegedy 2015, arXiv:1502.03167, section 3).
LoweredLayer lower_batch_norm(const LayerUse& use) {
  if (!use.trained) return fixed_batch_norm(use);
  TextBuilder& builder = use.builder();
  const BatchMoments moments = moments_of(use);
  move(use, moments);
  const Value inverse = builder.apply("rsqrt", moments.variance + norm_fields(use.layer).epsilon);
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

}  // namespace

const LayerKind kBatchNorm = {.name = "batch_norm",
                              .place = place_batch_norm,
                              .make = make_module<BatchNorm>,
                              .mixes_examples = true,
                              .passes = &kBatchNormPasses,
                              .onnx = batch_norm_onnx,
                              .torchscript = batch_norm_torchscript,
                              .lower = lower_batch_norm};

}  // namespace dtrain
