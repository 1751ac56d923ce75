// What batch_norm, layer_norm and group_norm compute, over numbers of float32.
#pragma once

#include <cstdint>

namespace dtrain {

// Numbers [examples, channels, pixels], row-major. Numbers in a row are channels of one pixel.
struct ChannelSize {
  int64_t examples = 0;
  int64_t channels = 0;
  int64_t pixels = 1;

  int64_t numbers() const { return examples * channels * pixels; }
  int64_t numbers_of_channel() const { return examples * pixels; }
};

// The size of images by channels, or with the channels `innermost`, where every pixel counts as an example.
inline ChannelSize channels_of(int64_t examples, int64_t channels, int64_t pixels, bool innermost) {
  return innermost ? ChannelSize{examples * pixels, channels, 1} : ChannelSize{examples, channels, pixels};
}

// The sum of each channel, [channels]. The number of threads changes no bit, here and below.
void sum_channels(const ChannelSize& size, const float* from, float* sums);

// The mean of each channel and the sum of the squares of the distances to it, [channels]. Without examples
// the mean is not-a-number.
void channel_deviations(const ChannelSize& size, const float* from, float* means, float* squares);

// The mean of each channel and the inverse of its standard deviation, 1 / sqrt(variance + epsilon), where the
// variance is the mean square of the distances to the mean. Not-a-number if there are no examples.
void channel_statistics(const ChannelSize& size, const float* from, float epsilon, float* means,
                        float* inverse_deviations);

// For each channel, the sum of gradient * (from - mean) * inverse_deviation, [channels].
void sum_normalised(const ChannelSize& size, const float* gradient, const float* from, const float* means,
                    const float* inverse_deviations, float* sums);

// to = from * scales + shifts, with the scale and shift of the channel.
void scale_channels(const ChannelSize& size, const float* from, const float* scales, const float* shifts,
                    float* to);

// to = first * of_first + second * of_second + shifts, with the numbers of the channel.
void combine_channels(const ChannelSize& size, const float* first, const float* of_first, const float* second,
                      const float* of_second, const float* shifts, float* to);

// Each of the rows of [rows, features] is normalised by itself: to = (from - mean) / sqrt(variance + epsilon)
// * weight + bias. `means` and `inverse_deviations` are [rows], for backward.
void normalise_rows(int64_t rows, int64_t features, const float* from, const float* weight, const float* bias,
                    float epsilon, float* means, float* inverse_deviations, float* to);

// The gradient of `from`, from that of the result.
void normalise_rows_backward_input(int64_t rows, int64_t features, const float* from, const float* gradient,
                                   const float* weight, const float* means, const float* inverse_deviations,
                                   float* to);

// Adds to the gradients of the weight and the bias.
void normalise_rows_backward_weights(int64_t rows, int64_t features, const float* from, const float* gradient,
                                     const float* means, const float* inverse_deviations,
                                     float* weight_gradient, float* bias_gradient);

// Numbers [examples, channels, pixels] whose channels are in groups of equal size. Each group of an example
// is normalised by itself.
struct GroupSize {
  int64_t examples = 0;
  int64_t channels = 0;
  int64_t groups = 1;
  int64_t pixels = 1;

  int64_t kept() const { return 7 * examples * channels; }
};

// to = (from - mean) / sqrt(variance + epsilon) * weight + bias, the last two by channel. `kept` has room for
// GroupSize::kept() numbers, which the functions below take and change.
void normalise_groups(const GroupSize& size, const float* from, const float* weight, const float* bias,
                      float epsilon, float* kept, float* to);

// Puts the sums of the result's gradient into `kept`, which both functions below need.
void sum_groups(const GroupSize& size, const float* from, const float* gradient, float* kept);

// Adds to the gradients of the weight and the bias.
void normalise_groups_backward_weights(const GroupSize& size, float* kept, float* weight_gradient,
                                       float* bias_gradient);

// The gradient of `from`, from that of the result.
void normalise_groups_backward_input(const GroupSize& size, const float* from, const float* gradient,
                                     const float* weight, float* kept, float* to);

}  // namespace dtrain
