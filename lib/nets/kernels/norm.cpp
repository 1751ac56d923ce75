#include "kernels/norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/instructions.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

constexpr int64_t kNumbersABlock = 1 << 15;  // fewer are not worth a second thread
constexpr int64_t kSumsAtOnce = 16;
constexpr int64_t kChannelsAtOnce = 64;
constexpr int64_t kRowsOfFloats = 64;     // are summed in float32
constexpr int64_t kPieceOfFloats = 4096;  // numbers of a plane or a row, too
constexpr int64_t kManyRows = 512;        // fewer are divided among threads by channels

// The sum of term(i) for i from `begin` to `end`, in an order that does not depend on the processor.
template <class Term>
[[gnu::always_inline]] inline float sum_of_piece(int64_t begin, int64_t end, const Term& term) {
  float lanes[kSumsAtOnce] = {};
  int64_t at = begin;
  for (; at + kSumsAtOnce <= end; at += kSumsAtOnce) {
    for (int64_t lane = 0; lane < kSumsAtOnce; ++lane) lanes[lane] += term(at + lane);
  }
  for (int64_t lane = 0; at < end; ++at, ++lane) lanes[lane] += term(at);
  float sum = 0;
  for (const float one : lanes) sum += one;
  return sum;
}

// The same for any number of terms.
template <class Term>
[[gnu::always_inline]] inline double sum_of(int64_t begin, int64_t end, const Term& term) {
  double sum = 0;
  for (int64_t piece = begin; piece < end; piece += kPieceOfFloats)
    sum += static_cast<double>(sum_of_piece(piece, std::min(piece + kPieceOfFloats, end), term));
  return sum;
}

// Of the channels from `first` to `last`: the sum of term(at, channel) of their numbers.
template <class Term>
struct SumChannels {
  [[gnu::always_inline]] static void run(ChannelSize size, Term term, int64_t first, int64_t last,
                                         float* __restrict sums) {
    if (size.pixels == 1) {
      for (int64_t begin = first; begin < last; begin += kChannelsAtOnce) {
        const int64_t count = std::min(kChannelsAtOnce, last - begin);
        double block[kChannelsAtOnce] = {};
        for (int64_t example = 0; example < size.examples; ++example) {
          const int64_t at = example * size.channels + begin;
          for (int64_t i = 0; i < count; ++i) block[i] += static_cast<double>(term(at + i, begin + i));
        }
        for (int64_t i = 0; i < count; ++i) sums[begin + i] = static_cast<float>(block[i]);
      }
      return;
    }
    for (int64_t channel = first; channel < last; ++channel) {
      double sum = 0;
      for (int64_t example = 0; example < size.examples; ++example) {
        const int64_t begin = (example * size.channels + channel) * size.pixels;
        sum += sum_of(
            begin, begin + size.pixels, [&](int64_t at) __attribute__((always_inline)) {
              return term(at, channel);
            });
      }
      sums[channel] = static_cast<float>(sum);
    }
  }
};

// Calls work(first, last) for all of `count` things that take `numbers` together.
template <class Work>
void in_blocks(int64_t count, int64_t numbers, const Work& work) {
  const int64_t blocks = std::clamp<int64_t>(numbers / kNumbersABlock, 1, std::max<int64_t>(count, 1));
  run_blocks(blocks, [&](int64_t block) { work(block * count / blocks, (block + 1) * count / blocks); });
}

// Adds the channels of the rows from `first` to `last` to `sums`: kWidth channels at once, so that their sums
// stay in registers.
template <class Term>
struct SumRows {
  template <int64_t kWidth>
  [[gnu::always_inline]] static void add(int64_t channels, int64_t channel, const Term& term, int64_t first,
                                         int64_t last, double* sums) {
    float lanes[kWidth] = {};
    for (int64_t row = first; row < last; ++row) {
      const int64_t at = row * channels + channel;
      for (int64_t i = 0; i < kWidth; ++i) lanes[i] += term(at + i, channel + i);
    }
    for (int64_t i = 0; i < kWidth; ++i) sums[channel + i] += static_cast<double>(lanes[i]);
  }
  [[gnu::always_inline]] static void run(int64_t channels, Term term, int64_t first, int64_t last,
                                         double* __restrict sums) {
    for (int64_t begin = first; begin < last; begin += kRowsOfFloats) {
      const int64_t end = std::min(begin + kRowsOfFloats, last);
      int64_t channel = 0;
      for (; channel + 64 <= channels; channel += 64) add<64>(channels, channel, term, begin, end, sums);
      for (; channel + 16 <= channels; channel += 16) add<16>(channels, channel, term, begin, end, sums);
      for (; channel < channels; ++channel) add<1>(channels, channel, term, begin, end, sums);
    }
  }
};

// Many rows are divided into blocks, whose sums are added in order.
template <class Term>
void add_up_rows(const ChannelSize& size, const Term& term, float* sums) {
  const int64_t rows = std::max(kNumbersABlock / size.channels / kRowsOfFloats, int64_t{1}) * kRowsOfFloats;
  const int64_t blocks = (size.examples + rows - 1) / rows;
  std::vector<double> parts(static_cast<size_t>(blocks * size.channels));
  run_blocks(blocks, [&](int64_t block) {
    run_kernel<SumRows<Term>>(size.channels, term, block * rows, std::min((block + 1) * rows, size.examples),
                              parts.data() + block * size.channels);
  });
  for (int64_t channel = 0; channel < size.channels; ++channel) {
    double sum = 0;
    for (int64_t block = 0; block < blocks; ++block)
      sum += parts[static_cast<size_t>(block * size.channels + channel)];
    sums[channel] = static_cast<float>(sum);
  }
}

template <class Term>
void add_up(const ChannelSize& size, const Term& term, float* sums) {
  if (size.pixels == 1 && size.examples > kManyRows) return add_up_rows(size, term, sums);
  in_blocks(size.channels, size.numbers(), [&](int64_t first, int64_t last) {
    run_kernel<SumChannels<Term>>(size, term, first, last, sums);
  });
}

// Of the planes from `first` to `last`, of all examples' channels, or of the examples where pixels are one.
template <class Value>
struct SetChannels {
  [[gnu::always_inline]] static void run(ChannelSize size, Value value, int64_t first, int64_t last,
                                         float* __restrict to) {
    if (size.pixels == 1) {
      for (int64_t begin = first * size.channels; begin < last * size.channels; begin += size.channels) {
        for (int64_t channel = 0; channel < size.channels; ++channel)
          to[begin + channel] = value(begin + channel, channel);
      }
      return;
    }
    for (int64_t plane = first; plane < last; ++plane) {
      const int64_t channel = plane % size.channels;
      for (int64_t at = plane * size.pixels; at < (plane + 1) * size.pixels; ++at)
        to[at] = value(at, channel);
    }
  }
};

template <class Value>
void set_all(const ChannelSize& size, const Value& value, float* to) {
  const int64_t parts = size.pixels == 1 ? size.examples : size.examples * size.channels;
  in_blocks(parts, size.numbers(), [&](int64_t first, int64_t last) {
    run_kernel<SetChannels<Value>>(size, value, first, last, to);
  });
}

struct NormaliseRows {
  [[gnu::always_inline]] static void run(int64_t rows, int64_t features, const float* from,
                                         const float* weight, const float* bias, float epsilon, float* means,
                                         float* inverse_deviations, float* __restrict to) {
    const auto count = static_cast<float>(features);
    for (int64_t row = 0; row < rows; ++row) {
      const float* const x = from + row * features;
      float* const y = to + row * features;
      const auto sum = static_cast<float>(sum_of(
          0, features, [&](int64_t at) __attribute__((always_inline)) { return x[at]; }));
      const float mean = sum / count;
      const auto squares = static_cast<float>(sum_of(
          0, features, [&](int64_t at) __attribute__((always_inline)) {
            return (x[at] - mean) * (x[at] - mean);
          }));
      const float variance = squares / count;
      const float inverse = 1 / std::sqrt(variance + epsilon);
      for (int64_t at = 0; at < features; ++at) y[at] = (x[at] - mean) * inverse * weight[at] + bias[at];
      means[row] = mean;
      inverse_deviations[row] = inverse;
    }
  }
};

struct NormaliseRowsToInput {
  [[gnu::always_inline]] static void run(int64_t rows, int64_t features, const float* from,
                                         const float* gradient, const float* weight, const float* means,
                                         const float* inverse_deviations, float* __restrict to) {
    const auto count = static_cast<float>(features);
    for (int64_t row = 0; row < rows; ++row) {
      const float* const x = from + row * features;
      const float* const slope = gradient + row * features;
      float* const result = to + row * features;
      const float mean = means[row], inverse = inverse_deviations[row];
      const auto slopes = static_cast<float>(sum_of(
          0, features, [&](int64_t at) __attribute__((always_inline)) { return slope[at] * weight[at]; }));
      const auto products = static_cast<float>(sum_of(
          0, features, [&](int64_t at) __attribute__((always_inline)) {
            return slope[at] * weight[at] * ((x[at] - mean) * inverse);
          }));
      for (int64_t at = 0; at < features; ++at) {
        result[at] = inverse * (slope[at] * weight[at] - slopes / count -
                                (x[at] - mean) * inverse * (products / count));
      }
    }
  }
};

// Of the features from `first` to `last`.
struct NormaliseRowsToWeights {
  [[gnu::always_inline]] static void run(int64_t rows, int64_t features, int64_t first, int64_t last,
                                         const float* from, const float* gradient, const float* means,
                                         const float* inverse_deviations, float* __restrict of_weight,
                                         float* __restrict of_bias) {
    for (int64_t row = 0; row < rows; ++row) {
      const float mean = means[row], inverse = inverse_deviations[row];
      for (int64_t i = first; i < last; ++i) {
        const int64_t at = row * features + i;
        of_weight[i] += gradient[at] * ((from[at] - mean) * inverse);
        of_bias[i] += gradient[at];
      }
    }
  }
};

// What normalise_groups() and what follows it keep of each channel of each example.
struct GroupNumbers {
  int64_t count, of_group;
  ChannelSize channels;  // of all examples, as those of one
  float *means, *inverse_deviations;
  float *gradients, *products;  // sums: of the result's gradients, and times the normalised numbers
  float* factors;               // [3, count]: by what the passes over all numbers multiply, and what they add

  GroupNumbers(const GroupSize& size, float* kept)
      : count(size.examples * size.channels),
        of_group(size.channels / size.groups),
        channels{1, count, size.pixels},
        means(kept),
        inverse_deviations(means + count),
        gradients(inverse_deviations + count),
        products(gradients + count),
        factors(products + count) {}
};

// Calls work(i, channel) for the channels of all examples, i of them all.
template <class Work>
void each_channel(const GroupSize& size, const Work& work) {
  for (int64_t first = 0; first < size.examples * size.channels; first += size.channels) {
    for (int64_t channel = 0; channel < size.channels; ++channel) work(first + channel, channel);
  }
}

}  // namespace

void sum_channels(const ChannelSize& size, const float* from, float* sums) {
  const auto number = [=](int64_t at, int64_t) __attribute__((always_inline)) { return from[at]; };
  add_up(size, number, sums);
}

void channel_deviations(const ChannelSize& size, const float* from, float* means, float* squares) {
  const auto count = static_cast<float>(size.numbers_of_channel());
  sum_channels(size, from, means);
  for (int64_t channel = 0; channel < size.channels; ++channel) means[channel] /= count;
  const auto squared_distance = [=](int64_t at, int64_t channel) __attribute__((always_inline)) {
    const float distance = from[at] - means[channel];
    return distance * distance;
  };
  add_up(size, squared_distance, squares);
}

void channel_statistics(const ChannelSize& size, const float* from, float epsilon, float* means,
                        float* inverse_deviations) {
  const auto count = static_cast<float>(size.numbers_of_channel());
  channel_deviations(size, from, means, inverse_deviations);
  for (int64_t channel = 0; channel < size.channels; ++channel)
    inverse_deviations[channel] = 1 / std::sqrt(inverse_deviations[channel] / count + epsilon);
}

void sum_normalised(const ChannelSize& size, const float* gradient, const float* from, const float* means,
                    const float* inverse_deviations, float* sums) {
  const auto product = [=](int64_t at, int64_t channel) __attribute__((always_inline)) {
    return gradient[at] * ((from[at] - means[channel]) * inverse_deviations[channel]);
  };
  add_up(size, product, sums);
}

void scale_channels(const ChannelSize& size, const float* from, const float* scales, const float* shifts,
                    float* to) {
  const auto scaled = [=](int64_t at, int64_t channel) __attribute__((always_inline)) {
    return from[at] * scales[channel] + shifts[channel];
  };
  set_all(size, scaled, to);
}

void combine_channels(const ChannelSize& size, const float* first, const float* of_first, const float* second,
                      const float* of_second, const float* shifts, float* to) {
  const auto combined = [=](int64_t at, int64_t channel) __attribute__((always_inline)) {
    return first[at] * of_first[channel] + second[at] * of_second[channel] + shifts[channel];
  };
  set_all(size, combined, to);
}

void normalise_rows(int64_t rows, int64_t features, const float* from, const float* weight, const float* bias,
                    float epsilon, float* means, float* inverse_deviations, float* to) {
  in_blocks(rows, rows * features, [&](int64_t first, int64_t last) {
    run_kernel<NormaliseRows>(last - first, features, from + first * features, weight, bias, epsilon,
                              means + first, inverse_deviations + first, to + first * features);
  });
}

void normalise_rows_backward_input(int64_t rows, int64_t features, const float* from, const float* gradient,
                                   const float* weight, const float* means, const float* inverse_deviations,
                                   float* to) {
  in_blocks(rows, rows * features, [&](int64_t first, int64_t last) {
    run_kernel<NormaliseRowsToInput>(last - first, features, from + first * features,
                                     gradient + first * features, weight, means + first,
                                     inverse_deviations + first, to + first * features);
  });
}

void normalise_rows_backward_weights(int64_t rows, int64_t features, const float* from, const float* gradient,
                                     const float* means, const float* inverse_deviations,
                                     float* weight_gradient, float* bias_gradient) {
  in_blocks(features, rows * features, [&](int64_t first, int64_t last) {
    run_kernel<NormaliseRowsToWeights>(rows, features, first, last, from, gradient, means, inverse_deviations,
                                       weight_gradient, bias_gradient);
  });
}

void normalise_groups(const GroupSize& size, const float* from, const float* weight, const float* bias,
                      float epsilon, float* kept, float* to) {
  const GroupNumbers all(size, kept);
  const int64_t groups = size.examples * size.groups;
  float *const of_groups = all.factors, *const inverses = of_groups + groups;
  channel_statistics({1, groups, all.of_group * size.pixels}, from, epsilon, of_groups, inverses);
  for (int64_t group = 0; group < groups; ++group) {
    std::fill_n(all.means + group * all.of_group, all.of_group, of_groups[group]);
    std::fill_n(all.inverse_deviations + group * all.of_group, all.of_group, inverses[group]);
  }
  float *const scales = all.factors, *const shifts = scales + all.count;
  each_channel(size, [&](int64_t i, int64_t channel) {
    scales[i] = weight[channel] * all.inverse_deviations[i];
    shifts[i] = bias[channel] - all.means[i] * scales[i];
  });
  scale_channels(all.channels, from, scales, shifts, to);
}

void sum_groups(const GroupSize& size, const float* from, const float* gradient, float* kept) {
  const GroupNumbers all(size, kept);
  sum_channels(all.channels, gradient, all.gradients);
  sum_normalised(all.channels, gradient, from, all.means, all.inverse_deviations, all.products);
}

void normalise_groups_backward_weights(const GroupSize& size, float* kept, float* weight_gradient,
                                       float* bias_gradient) {
  const GroupNumbers all(size, kept);
  each_channel(size, [&](int64_t i, int64_t channel) {
    weight_gradient[channel] += all.products[i];
    bias_gradient[channel] += all.gradients[i];
  });
}

void normalise_groups_backward_input(const GroupSize& size, const float* from, const float* gradient,
                                     const float* weight, float* kept, float* to) {
  const GroupNumbers all(size, kept);
  const auto numbers = static_cast<float>(all.of_group * size.pixels);
  float *const of_gradient = all.factors, *const of_input = of_gradient + all.count,
               *const shifts = of_input + all.count;
  for (int64_t first = 0; first < all.count; first += all.of_group) {
    const float* const weights = weight + first % size.channels;
    const float inverse = all.inverse_deviations[first], mean = all.means[first];
    float gradients = 0, products = 0;
    for (int64_t i = 0; i < all.of_group; ++i) {
      gradients += weights[i] * all.gradients[first + i];
      products += weights[i] * all.products[first + i];
    }
    const float slope = -inverse * inverse * products / numbers;
    for (int64_t i = 0; i < all.of_group; ++i) of_gradient[first + i] = weights[i] * inverse;
    std::fill_n(of_input + first, all.of_group, slope);
    std::fill_n(shifts + first, all.of_group, -inverse * gradients / numbers - mean * slope);
  }
  combine_channels(all.channels, gradient, of_gradient, from, of_input, shifts, to);
}

}  // namespace dtrain
