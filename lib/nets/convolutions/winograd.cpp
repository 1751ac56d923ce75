#include "convolutions/winograd.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "core/cache_lines.h"
#include "kernels/instructions.h"
#include "kernels/products.h"
#include "kernels/transpose.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

constexpr int64_t kPlaces = 16;              // numbers that stand for a tile, and for a kernel
constexpr int64_t kNumbersAtOnce = 1 << 19;  // of tiles, in both forms: what stays in the caches
constexpr int64_t kFewestChannels = 48;
constexpr int64_t kFewestTiles = 128;
constexpr int64_t kTilesATask = 64;

int64_t tile_rows(const ConvSize& conv) { return (conv.rows + 1) / 2; }
int64_t tile_columns(const ConvSize& conv) { return (conv.columns + 1) / 2; }
int64_t tiles_of(const ConvSize& conv) { return conv.examples * tile_rows(conv) * tile_columns(conv); }

// The maps in one dimension. Both dimensions are mapped one after the other. Results are `step` numbers
// apart.

// B': 4 pixels of the input.
[[gnu::always_inline]] inline void map_input(float a, float b, float c, float d, float* to,
                                             int64_t step = 1) {
  to[0] = a - c;
  to[step] = b + c;
  to[2 * step] = c - b;
  to[3 * step] = b - d;
}

// G: 3 numbers of the kernel.
[[gnu::always_inline]] inline void map_kernel(float a, float b, float c, float* to, int64_t step = 1) {
  to[0] = a;
  to[step] = 0.5F * (a + b + c);
  to[2 * step] = 0.5F * (a - b + c);
  to[3 * step] = c;
}

// A': back to 2 pixels of the output.
[[gnu::always_inline]] inline void map_back(float a, float b, float c, float d, float* to) {
  to[0] = a + b + c;
  to[1] = b - c - d;
}

// A: 2 pixels of the output's gradient.
[[gnu::always_inline]] inline void map_gradient(float a, float b, float* to, int64_t step = 1) {
  to[0] = a;
  to[step] = a + b;
  to[2 * step] = a - b;
  to[3 * step] = -b;
}

// G': back to 3 numbers of the kernel's gradient.
[[gnu::always_inline]] inline void map_kernel_back(float a, float b, float c, float d, float* to,
                                                   int64_t step = 1) {
  to[0] = a + 0.5F * (b + c);
  to[step] = 0.5F * (b - c);
  to[2 * step] = 0.5F * (b + c) + d;
}

// What an image with channels last is made of, and where its tiles begin.
struct Plane {
  int64_t height;
  int64_t width;
  int64_t channels;
  int64_t above;  // the first tile begins so far above, and left of, the first pixel
  int64_t left;
  int64_t tile_rows;
  int64_t tile_columns;

  // The first row and column of a tile of `side`; of which image.
  struct Corner {
    int64_t image, y, x;
  };
  [[gnu::always_inline]] Corner corner(int64_t tile) const {
    const int64_t row = tile / tile_columns;
    return {row / tile_rows, row % tile_rows * 2 - above, tile % tile_columns * 2 - left};
  }
  // A pixel's channels, or `outside`.
  template <typename Number>
  [[gnu::always_inline]] Number* pixel(Number* images, const Corner& corner, int64_t y, int64_t x,
                                       Number* outside) const {
    const int64_t row = corner.y + y, column = corner.x + x;
    const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
    return is_inside ? images + ((corner.image * height + row) * width + column) * channels : outside;
  }
};

// Tiles [first, first + count) of 4 x 4 pixels become [place, tile, channel]; places are `stride` numbers
// apart. `zeros`: a pixel outside.
struct MapInput {
  [[gnu::always_inline]] static void run(const Plane& plane, int64_t first, int64_t count, int64_t stride,
                                         const float* images, const float* zeros, float* __restrict to) {
    const int64_t channels = plane.channels;
    for (int64_t tile = 0; tile < count; ++tile, to += channels) {
      const Plane::Corner corner = plane.corner(first + tile);
      const float* p[16];
      for (int64_t i = 0; i < 16; ++i) p[i] = plane.pixel(images, corner, i / 4, i % 4, zeros);
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        float columns[4][4];
        map_input(p[0][c], p[4][c], p[8][c], p[12][c], columns[0]);
        map_input(p[1][c], p[5][c], p[9][c], p[13][c], columns[1]);
        map_input(p[2][c], p[6][c], p[10][c], p[14][c], columns[2]);
        map_input(p[3][c], p[7][c], p[11][c], p[15][c], columns[3]);
#pragma GCC unroll 4
        for (int64_t y = 0; y < 4; ++y)
          map_input(columns[0][y], columns[1][y], columns[2][y], columns[3][y], to + 4 * y * stride + c,
                    stride);
      }
    }
  }
};

// Tiles of 2 x 2 pixels of the output's gradient become [place, tile, channel].
struct MapGradient {
  [[gnu::always_inline]] static void run(const Plane& plane, int64_t first, int64_t count, int64_t stride,
                                         const float* images, const float* zeros, float* __restrict to) {
    const int64_t channels = plane.channels;
    for (int64_t tile = 0; tile < count; ++tile, to += channels) {
      const Plane::Corner corner = plane.corner(first + tile);
      const float* p[4];
      for (int64_t i = 0; i < 4; ++i) p[i] = plane.pixel(images, corner, i / 2, i % 2, zeros);
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        float columns[2][4];
        map_gradient(p[0][c], p[2][c], columns[0]);
        map_gradient(p[1][c], p[3][c], columns[1]);
#pragma GCC unroll 4
        for (int64_t y = 0; y < 4; ++y)
          map_gradient(columns[0][y], columns[1][y], to + 4 * y * stride + c, stride);
      }
    }
  }
};

// [place, tile, channel] becomes tiles of 2 x 2 pixels, to which `bias` is added. Pixels outside go to
// `outside`.
struct MapBack {
  [[gnu::always_inline]] static void run(const Plane& plane, int64_t first, int64_t count, const float* from,
                                         const float* bias, float* images, float* outside) {
    const int64_t channels = plane.channels, stride = count * channels;
    for (int64_t tile = 0; tile < count; ++tile, from += channels) {
      const Plane::Corner corner = plane.corner(first + tile);
      float* const p0 = plane.pixel(images, corner, 0, 0, outside);
      float* const p1 = plane.pixel(images, corner, 0, 1, outside);
      float* const p2 = plane.pixel(images, corner, 1, 0, outside);
      float* const p3 = plane.pixel(images, corner, 1, 1, outside);
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        float rows[4][2], upper[2], lower[2];
#pragma GCC unroll 4
        for (int64_t y = 0; y < 4; ++y) {
          map_back(from[4 * y * stride + c], from[(4 * y + 1) * stride + c], from[(4 * y + 2) * stride + c],
                   from[(4 * y + 3) * stride + c], rows[y]);
        }
        map_back(rows[0][0], rows[1][0], rows[2][0], rows[3][0], upper);
        map_back(rows[0][1], rows[1][1], rows[2][1], rows[3][1], lower);
        p0[c] = upper[0] + bias[c];
        p1[c] = lower[0] + bias[c];
        p2[c] = upper[1] + bias[c];
        p3[c] = lower[1] + bias[c];
      }
    }
  }
};

// Kernels, [filter, 3, 3, channel], become [place, filter, channel]; `turned` by half a turn first.
struct MapKernels {
  [[gnu::always_inline]] static void run(int64_t filters, int64_t channels, const float* weight, bool turned,
                                         float* __restrict to) {
    const int64_t stride = filters * channels;
    for (int64_t filter = 0; filter < filters; ++filter, weight += 9 * channels, to += channels) {
      const float* p[9];
      for (int64_t i = 0; i < 9; ++i) p[i] = weight + (turned ? 8 - i : i) * channels;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        float columns[3][4];
        map_kernel(p[0][c], p[3][c], p[6][c], columns[0]);
        map_kernel(p[1][c], p[4][c], p[7][c], columns[1]);
        map_kernel(p[2][c], p[5][c], p[8][c], columns[2]);
#pragma GCC unroll 4
        for (int64_t y = 0; y < 4; ++y)
          map_kernel(columns[0][y], columns[1][y], columns[2][y], to + 4 * y * stride + c, stride);
      }
    }
  }
};

// [place, filter, channel] becomes the gradient of kernels, [filter, 3, 3, channel].
struct MapKernelsBack {
  [[gnu::always_inline]] static void run(int64_t filters, int64_t channels, const float* from,
                                         float* __restrict weight) {
    const int64_t stride = filters * channels;
    for (int64_t filter = 0; filter < filters; ++filter, weight += 9 * channels, from += channels) {
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) {
        float rows[4][3];
#pragma GCC unroll 4
        for (int64_t y = 0; y < 4; ++y) {
          map_kernel_back(from[4 * y * stride + c], from[(4 * y + 1) * stride + c],
                          from[(4 * y + 2) * stride + c], from[(4 * y + 3) * stride + c], rows[y]);
        }
#pragma GCC unroll 3
        for (int64_t x = 0; x < 3; ++x)
          map_kernel_back(rows[0][x], rows[1][x], rows[2][x], rows[3][x], weight + x * channels + c,
                          3 * channels);
      }
    }
  }
};

Plane plane_of_input(const ConvSize& conv) {
  return {conv.height,      conv.width,      conv.channels,     conv.padded_above,
          conv.padded_left, tile_rows(conv), tile_columns(conv)};
}

Plane plane_of_output(const ConvSize& conv) {
  return {conv.rows, conv.columns, conv.filters, 0, 0, tile_rows(conv), tile_columns(conv)};
}

// How many tiles are mapped and multiplied at once.
int64_t tiles_at_once(const ConvSize& conv) {
  const int64_t fitting = kNumbersAtOnce / (kPlaces * (conv.channels + conv.filters));
  return std::max<int64_t>(fitting / 16 * 16, 32);
}

int64_t numbers_of_tiles(const ConvSize& conv) {
  return kPlaces * tiles_at_once(conv) * (conv.channels + conv.filters);
}

int64_t widest(const ConvSize& conv) { return std::max(conv.channels, conv.filters); }

// Of convolve(), in whole cache lines.
int64_t numbers_of_thread(const ConvSize& conv) {
  return whole_lines_of_floats(numbers_of_tiles(conv) + 3 * widest(conv));
}

// Convolves with kernels that are [place, channel of the input, channel of the result].
void convolve(const ConvSize& conv, const float* input, const float* kernels, const float* bias,
              float* output, float* scratch) {
  const Plane in = plane_of_input(conv), out = plane_of_output(conv);
  const int64_t each = tiles_at_once(conv);
  const int64_t memory = numbers_of_thread(conv);
  const int64_t pieces = (tiles_of(conv) + each - 1) / each;
  run_ranges(pieces, /*grain=*/1, [&](int64_t begin, int64_t end) {
    float* const from = scratch + at::get_thread_num() * memory;
    float* const to = from + kPlaces * each * in.channels;
    float* const zeros = to + kPlaces * each * out.channels;
    float* const outside = zeros + widest(conv);
    float* const no_bias = outside + widest(conv);
    std::fill_n(zeros, widest(conv), 0.0F);
    std::fill_n(no_bias, widest(conv), 0.0F);
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece * each, count = std::min(each, tiles_of(conv) - first);
      run_kernel<MapInput>(in, first, count, count * in.channels, input, static_cast<const float*>(zeros),
                           from);
      multiply_each(kPlaces, count, out.channels, in.channels, from, kernels, to, /*adds=*/false);
      run_kernel<MapBack>(out, first, count, static_cast<const float*>(to), bias != nullptr ? bias : no_bias,
                          output, outside);
    }
  });
}

}  // namespace

bool has_enough_channels(int64_t channels, int64_t filters) {
  return channels >= kFewestChannels && filters >= kFewestChannels;
}

bool is_profitable(const ConvSize& conv) {
  return has_enough_channels(conv.channels, conv.filters) && tiles_of(conv) >= kFewestTiles;
}

int64_t winograd_scratch(const ConvSize& conv) {
  const int64_t kernels = 2 * kPlaces * conv.channels * conv.filters;
  const int64_t transposed = tiles_at_once(conv) * conv.filters;
  return kernels + transposed + computing_threads() * numbers_of_thread(conv);
}

void winograd_forward(const ConvSize& conv, const float* input, const float* weight, const float* bias,
                      float* output, float* scratch) {
  const int64_t size = conv.channels * conv.filters;
  float* const by_filter = scratch;
  float* const by_channel = scratch + kPlaces * size;
  run_kernel<MapKernels>(conv.filters, conv.channels, weight, false, by_filter);
  transpose_each(kPlaces, conv.filters, conv.channels, by_filter, by_channel);
  convolve(conv, input, by_channel, bias, output, by_channel + kPlaces * size);
}

// The gradient is convolved with the kernels turned around.
void winograd_backward_input(const ConvSize& conv, const float* output_gradient, const float* weight,
                             float* input_gradient, float* scratch) {
  const ConvSize back{.examples = conv.examples,
                      .channels = conv.filters,
                      .height = conv.rows,
                      .width = conv.columns,
                      .filters = conv.channels,
                      .kernel = conv.kernel,
                      .padded_above = 2 - conv.padded_above,
                      .padded_left = 2 - conv.padded_left,
                      .rows = conv.height,
                      .columns = conv.width};
  run_kernel<MapKernels>(conv.filters, conv.channels, weight, true, scratch);
  convolve(back, output_gradient, scratch, nullptr, input_gradient,
           scratch + kPlaces * conv.channels * conv.filters);
}

void winograd_backward_weights(const ConvSize& conv, const float* input, const float* output_gradient,
                               float* weight_gradient, float* scratch) {
  const int64_t each = tiles_at_once(conv), size = conv.channels * conv.filters;
  float* const sums = scratch;
  float* const transposed = sums + kPlaces * size;
  float* const from = transposed + each * conv.filters;
  float* const slopes = from + kPlaces * each * conv.channels;
  float* const zeros = slopes + kPlaces * each * conv.filters;
  std::fill_n(zeros, widest(conv), 0.0F);
  std::fill_n(sums, kPlaces * size, 0.0F);
  const Plane in = plane_of_input(conv), out = plane_of_output(conv);
  for (int64_t first = 0; first < tiles_of(conv); first += each) {
    const int64_t count = std::min(each, tiles_of(conv) - first);
    run_ranges(count, kTilesATask, [&](int64_t begin, int64_t end) {
      run_kernel<MapInput>(in, first + begin, end - begin, count * in.channels, input,
                           static_cast<const float*>(zeros), from + begin * in.channels);
      run_kernel<MapGradient>(out, first + begin, end - begin, count * out.channels, output_gradient,
                              static_cast<const float*>(zeros), slopes + begin * out.channels);
    });
    multiply_each_transposed(kPlaces, conv.filters, conv.channels, count, slopes, from, sums, /*adds=*/true,
                             transposed);
  }
  run_kernel<MapKernelsBack>(conv.filters, conv.channels, static_cast<const float*>(sums), weight_gradient);
}

}  // namespace dtrain
