#include "compiled/norm_passes.h"

#include <algorithm>
#include <cmath>

#include "kernels/norm.h"
#include "kernels/transpose.h"

namespace dtrain {
namespace {

// A batch_norm whose weight is not trained is frozen, or evaluates: it uses its moving statistics.
bool uses_batch(const LayerWork& work) { return work.weight_gradient != nullptr && work.examples > 0; }

ChannelSize size_of(const LayerWork& work) {
  const int64_t channels = work.layer->input_shape[0];
  return {work.examples, channels, work.inputs / channels};
}

// What forward keeps for backward, and the sums that both backward passes use: [channels] each.
struct BatchNormMemory {
  float* mean;
  float* inverse_deviation;
  float* gradients;  // the sum of the result's
  float* products;   // the sum of the result's gradients times the normalised numbers
  float* factors;    // three times: what the passes over all numbers multiply by and add
  int64_t channels;

  explicit BatchNormMemory(const LayerWork& work) : channels(work.layer->input_shape[0]) {
    mean = work.kept;
    inverse_deviation = mean + channels;
    gradients = inverse_deviation + channels;
    products = gradients + channels;
    factors = products + channels;
  }
  static int64_t size(const LayerWork& work) { return 7 * work.layer->input_shape[0]; }
};

void move_statistics(const LayerWork& work, const BatchNormMemory& memory) {
  float* const mean = work.moving_mean.mutable_data_ptr<float>();
  float* const variance = work.moving_variance.mutable_data_ptr<float>();
  const auto epsilon = static_cast<float>(work.layer->spec.epsilon);
  const auto weight = static_cast<float>(1 - work.layer->spec.momentum);
  for (int64_t i = 0; i < memory.channels; ++i) {
    const float inverse = memory.inverse_deviation[i];
    const float of_batch = std::max(1 / (inverse * inverse) - epsilon, 0.0F);
    mean[i] += weight * (memory.mean[i] - mean[i]);
    variance[i] += weight * (of_batch - variance[i]);
  }
}

void batch_norm(const LayerWork& work) {
  const BatchNormMemory memory(work);
  const auto epsilon = static_cast<float>(work.layer->spec.epsilon);
  if (uses_batch(work)) {
    channel_statistics(size_of(work), work.input, epsilon, memory.mean, memory.inverse_deviation);
    move_statistics(work, memory);
  } else {
    const float* const variance = work.moving_variance.const_data_ptr<float>();
    std::copy_n(work.moving_mean.const_data_ptr<float>(), memory.channels, memory.mean);
    for (int64_t i = 0; i < memory.channels; ++i)
      memory.inverse_deviation[i] = 1 / std::sqrt(variance[i] + epsilon);
  }
  float *const scales = memory.factors, *const shifts = scales + memory.channels;
  const float *const weight = work.weight.const_data_ptr<float>(), *const bias =
                                                                       work.bias.const_data_ptr<float>();
  for (int64_t i = 0; i < memory.channels; ++i) {
    scales[i] = weight[i] * memory.inverse_deviation[i];
    shifts[i] = bias[i] - memory.mean[i] * scales[i];
  }
  scale_channels(size_of(work), work.input, scales, shifts, work.output);
}

void batch_norm_to_weights(const LayerWork& work, bool adds) {
  const BatchNormMemory memory(work);
  sum_channels(size_of(work), work.output_gradient, memory.gradients);
  sum_normalised(size_of(work), work.output_gradient, work.input, memory.mean, memory.inverse_deviation,
                 memory.products);
  for (int64_t i = 0; i < memory.channels; ++i) {
    work.weight_gradient[i] = (adds ? work.weight_gradient[i] : 0) + memory.products[i];
    work.bias_gradient[i] = (adds ? work.bias_gradient[i] : 0) + memory.gradients[i];
  }
}

// With the statistics of the batch, which depend on the input, what Ioffe and Szegedy (2015,
// arXiv:1502.03167, section 3) derive: dx = scale * (dy - mean(dy) - normalised * mean(dy * normalised)).
void batch_norm_to_input(const LayerWork& work) {
  const BatchNormMemory memory(work);
  const auto count = static_cast<float>(size_of(work).numbers_of_channel());
  float *const of_gradient = memory.factors, *const of_input = of_gradient + memory.channels,
               *const shifts = of_input + memory.channels;
  const float* const weight = work.weight.const_data_ptr<float>();
  for (int64_t i = 0; i < memory.channels; ++i) {
    of_gradient[i] = weight[i] * memory.inverse_deviation[i];
    of_input[i] = 0;
    shifts[i] = 0;
    if (!uses_batch(work)) continue;
    of_input[i] = -of_gradient[i] * memory.inverse_deviation[i] * memory.products[i] / count;
    shifts[i] = -of_gradient[i] * memory.gradients[i] / count - memory.mean[i] * of_input[i];
  }
  combine_channels(size_of(work), work.output_gradient, of_gradient, work.input, of_input, shifts,
                   work.input_gradient);
}

// layer_norm normalises the channels of each pixel by themselves: rows of numbers, once each image is
// transposed.
struct PixelRows {
  ChannelSize size;
  int64_t rows;
  float* means;  // [rows], as the next
  float* inverse_deviations;

  explicit PixelRows(const LayerWork& work)
      : size(size_of(work)),
        rows(size.numbers_of_channel()),
        means(work.kept),
        inverse_deviations(means + rows) {}

  // `images` as rows, in `place` unless they are rows already.
  const float* of(const float* images, float* place) const {
    if (size.pixels == 1) return images;
    transpose_each(size.examples, size.channels, size.pixels, images, place);
    return place;
  }
  // Where the rows of `images` are to be made: in `place` unless images are rows.
  float* for_result(float* images, float* place) const { return size.pixels == 1 ? images : place; }
  void finish(const float* place, float* images) const {
    if (size.pixels > 1) transpose_each(size.examples, size.pixels, size.channels, place, images);
  }
  static int64_t scratch(const LayerWork& work) {
    return size_of(work).pixels == 1 ? 0 : 3 * size_of(work).numbers();
  }
};

void layer_norm(const LayerWork& work) {
  const PixelRows pixels(work);
  float* const result = pixels.for_result(work.output, work.scratch + pixels.size.numbers());
  normalise_rows(pixels.rows, pixels.size.channels, pixels.of(work.input, work.scratch),
                 work.weight.const_data_ptr<float>(), work.bias.const_data_ptr<float>(),
                 static_cast<float>(work.layer->spec.epsilon), pixels.means, pixels.inverse_deviations,
                 result);
  pixels.finish(result, work.output);
}

void layer_norm_to_weights(const LayerWork& work, bool adds) {
  const PixelRows pixels(work);
  if (!adds) {
    std::fill_n(work.weight_gradient, pixels.size.channels, 0.0F);
    std::fill_n(work.bias_gradient, pixels.size.channels, 0.0F);
  }
  normalise_rows_backward_weights(pixels.rows, pixels.size.channels, pixels.of(work.input, work.scratch),
                                  pixels.of(work.output_gradient, work.scratch + pixels.size.numbers()),
                                  pixels.means, pixels.inverse_deviations, work.weight_gradient,
                                  work.bias_gradient);
}

void layer_norm_to_input(const LayerWork& work) {
  const PixelRows pixels(work);
  const int64_t numbers = pixels.size.numbers();
  float* const result = pixels.for_result(work.input_gradient, work.scratch + 2 * numbers);
  normalise_rows_backward_input(pixels.rows, pixels.size.channels, pixels.of(work.input, work.scratch),
                                pixels.of(work.output_gradient, work.scratch + numbers),
                                work.weight.const_data_ptr<float>(), pixels.means, pixels.inverse_deviations,
                                result);
  pixels.finish(result, work.input_gradient);
}

const LayerPasses kBatchNorm = {.kind = "batch_norm",
                                .forward = batch_norm,
                                .backward_input = batch_norm_to_input,
                                .backward_weights = batch_norm_to_weights,
                                .kept = BatchNormMemory::size};

const LayerPasses kLayerNorm = {
    .kind = "layer_norm",
    .forward = layer_norm,
    .backward_input = layer_norm_to_input,
    .backward_weights = layer_norm_to_weights,
    .scratch = PixelRows::scratch,
    .kept = [](const LayerWork& work) { return 2 * size_of(work).numbers_of_channel(); }};

}  // namespace

LayerMatch match_norm(const std::vector<PlacedLayer>& layers, size_t first) {
  const PlacedLayer& layer = layers[first];
  if (layer.spec.kind == "batch_norm") return {&kBatchNorm};
  if (layer.spec.kind == "layer_norm") return {&kLayerNorm};
  return {};
}

}  // namespace dtrain
