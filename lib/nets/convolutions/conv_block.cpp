#include "convolutions/conv_block.h"

#include <algorithm>
#include <functional>

#include "convolutions/conv_direct.h"
#include "core/cache_lines.h"
#include "kernels/dense.h"
#include "kernels/max_pool.h"
#include "kernels/products.h"
#include "kernels/transpose.h"
#include "parallel/parallel_blocks.h"

namespace dtrain {
namespace {

// The images are cut into up to this many groups, whatever the number of threads, and the groups' gradients
// are added in order: the number of threads changes no bit.
constexpr int64_t kGroups = 8;
int64_t groups_of(const ConvSize& block) { return std::clamp<int64_t>(block.examples, 1, kGroups); }

// The memory of one group of images. For the maxima, filters are innermost, so that the four pixels of each
// are vectors.
struct Workplace {
  // [window, pixels]: what each number of the weight is multiplied by; or what direct functions need. Those
  // of a network's first block are there even if nobody asks for the gradient of its input.
  float* columns;
  float* planes;    // [filters, pixels]; this and the next are for products only
  float* pixels;    // [pixels, filters]
  float* maxima;    // [maxima, filters]
  float* gradient;  // of the weight, as turn_weight() has it, and [filters] of the bias

  static int64_t columns_size(const ConvSize& block) {
    const int64_t products = has_direct_input(block) ? 0 : block.pixels() * block.window();
    return whole_lines_of_floats(std::max(products, direct_scratch(block)));
  }
  static int64_t pixels_size(const ConvSize& block) {
    return has_direct_input(block) ? 0 : whole_lines_of_floats(block.pixels() * block.filters);
  }
  static int64_t size(const ConvSize& block) {
    return columns_size(block) + 2 * pixels_size(block) +
           whole_lines_of_floats(block.maxima() * block.filters) +
           whole_lines_of_floats((block.window() + 1) * block.filters);
  }
  Workplace(const ConvSize& block, float* memory)
      : columns(memory),
        planes(columns + columns_size(block)),
        pixels(planes + pixels_size(block)),
        maxima(pixels + pixels_size(block)),
        gradient(maxima + whole_lines_of_floats(block.maxima() * block.filters)) {}
};

// The weight, [filters, window], with filters innermost: all together, or in groups.
int64_t lanes_of(const ConvSize& block) { return is_direct(block) ? direct_lanes(block) : block.filters; }
void turn_weight(const ConvSize& block, const float* weight, float* turned) {
  const int64_t lanes = lanes_of(block);
  transpose_each(block.filters / lanes, lanes, block.window(), weight, turned);
}
void turn_back(const ConvSize& block, const float* turned, float* weight) {
  const int64_t lanes = lanes_of(block);
  transpose_each(block.filters / lanes, block.window(), lanes, turned, weight);
}

// Calls visit(begin, end, from) for each row of `columns`, of `block.columns` numbers: those from `begin` to
// `end` are the numbers `from`, `from` + stride, ... of the image; the others are padding.
template <class Visit>
void visit_rows(const ConvSize& block, const Visit& visit) {
  for (int64_t number = 0; number < block.window(); ++number) {
    const int64_t channel = number / (block.kernel * block.kernel);
    const int64_t down = number / block.kernel % block.kernel - block.padded_above;
    const int64_t across = number % block.kernel - block.padded_left;
    const auto first_at = [&](int64_t x) {  // the first column whose window has x or more here
      return x <= across ? 0 : std::min((x - across + block.stride - 1) / block.stride, block.columns);
    };
    const int64_t first = first_at(0), last = std::max(first, first_at(block.width));
    for (int64_t row = 0; row < block.rows; ++row) {
      const int64_t y = row * block.stride + down;
      if (y < 0 || y >= block.height) {
        visit(0, 0, 0);
      } else {
        visit(first, last, (channel * block.height + y) * block.width + first * block.stride + across);
      }
    }
  }
}

void gather_columns(const ConvSize& block, const float* image, float* columns) {
  visit_rows(block, [&](int64_t begin, int64_t end, int64_t from) {
    std::fill(columns, columns + begin, 0.0F);
    if (block.stride == 1) {
      std::copy_n(image + from, end - begin, columns + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) columns[i] = image[from + (i - begin) * block.stride];
    }
    std::fill(columns + end, columns + block.columns, 0.0F);
    columns += block.columns;
  });
}

// The reverse: adds up what belongs to the same number of the image.
void scatter_columns(const ConvSize& block, const float* columns, float* image) {
  std::fill_n(image, block.channels * block.height * block.width, 0.0F);
  visit_rows(block, [&](int64_t begin, int64_t end, int64_t from) {
    if (block.stride == 1) {
      for (int64_t i = begin; i < end; ++i) image[from + (i - begin)] += columns[i];
    } else {
      for (int64_t i = begin; i < end; ++i) image[from + (i - begin) * block.stride] += columns[i];
    }
    columns += block.columns;
  });
}

// Of one image, with filters innermost.
Pixels pixels_of(const ConvSize& block) { return {1, block.rows, block.columns, block.filters}; }

// The gradients of the pixels from those of the maxima.
void spread_gradient(const ConvSize& block, const float* output_gradient, const int32_t* argmaxes,
                     const Workplace& place) {
  transpose(block.filters, block.maxima(), output_gradient, place.maxima);
  max_pool_pixels_backward(pixels_of(block), place.maxima, argmaxes, place.pixels);
}

// Leaves the maxima in `place`.
void forward_by_products(const ConvSize& block, const float* image, const float* weight, const float* bias,
                         int32_t* argmaxes, const Workplace& place) {
  gather_columns(block, image, place.columns);
  for (int64_t filter = 0; bias != nullptr && filter < block.filters; ++filter)
    std::fill_n(place.planes + filter * block.pixels(), block.pixels(), bias[filter]);
  multiply(block.filters, block.pixels(), block.window(), weight, place.columns, place.planes,
           /*adds=*/bias != nullptr);
  transpose(block.filters, block.pixels(), place.planes, place.pixels);
  max_pool_pixels(pixels_of(block), /*rectify=*/true, place.pixels, place.maxima, argmaxes);
}

// Adds to the gradients in `place`.
void weights_by_products(const ConvSize& block, const float* image, const float* output_gradient,
                         const int32_t* argmaxes, const Workplace& place) {
  spread_gradient(block, output_gradient, argmaxes, place);
  gather_columns(block, image, place.columns);
  multiply(block.window(), block.filters, block.pixels(), place.columns, place.pixels, place.gradient,
           /*adds=*/true);
  add_columns(block.pixels(), block.filters, place.pixels, place.gradient + block.window() * block.filters);
}

// `turned`: the weight, [window, filters].
void input_by_products(const ConvSize& block, const float* output_gradient, const int32_t* argmaxes,
                       const float* turned, float* image_gradient, const Workplace& place) {
  spread_gradient(block, output_gradient, argmaxes, place);
  transpose(block.pixels(), block.filters, place.pixels, place.planes);
  multiply(block.window(), block.pixels(), block.filters, turned, place.planes, place.columns,
           /*adds=*/false);
  scatter_columns(block, place.columns, image_gradient);
}

struct ImageSizes {
  int64_t input;
  int64_t output;
  explicit ImageSizes(const ConvSize& block)
      : input(block.channels * block.height * block.width), output(block.maxima() * block.filters) {}
};

// Calls work(group, its workplace, image) for all images, group by group.
void for_each_image(
    const ConvSize& block, float* scratch, const std::function<void(const Workplace&, int64_t image)>& work,
    const std::function<void(const Workplace&)>& begin = [](const Workplace&) {}) {
  const int64_t groups = groups_of(block);
  run_blocks(groups, [&](int64_t group) {
    const Workplace place(block, scratch + group * Workplace::size(block));
    begin(place);
    const int64_t last = (group + 1) * block.examples / groups;
    for (int64_t image = group * block.examples / groups; image < last; ++image) work(place, image);
  });
}

}  // namespace

int64_t conv_block_scratch(const ConvSize& block) {
  const int64_t weight = whole_lines_of_floats(block.window() * block.filters);
  return groups_of(block) * Workplace::size(block) + weight +
         std::max(weight, whole_lines_of_floats(block.filters));
}

int64_t conv_block_argmaxes(const ConvSize& block) { return block.examples * block.maxima() * block.filters; }

void conv_block_forward(const ConvSize& block, const float* input, const float* weight, const float* bias,
                        float* output, int32_t* argmaxes, float* scratch) {
  const ImageSizes sizes(block);
  const bool direct = is_direct(block);
  float* const turned = scratch + groups_of(block) * Workplace::size(block);
  float* const start = turned + whole_lines_of_floats(block.window() * block.filters);
  if (direct) {
    turn_weight(block, weight, turned);
    bias != nullptr ? std::copy_n(bias, block.filters, start) : std::fill_n(start, block.filters, 0.0F);
  }
  const bool moderate =
      direct && are_moderate(start, block.filters) && are_moderate(weight, block.filters * block.window());
  for_each_image(block, scratch, [&](const Workplace& place, int64_t image) {
    const float* const from = input + image * sizes.input;
    int32_t* const of_image = argmaxes + image * sizes.output;
    if (direct) {
      direct_forward(block, from, turned, start, moderate, place.maxima, of_image, place.columns);
    } else {
      forward_by_products(block, from, weight, bias, of_image, place);
    }
    transpose(block.maxima(), block.filters, place.maxima, output + image * sizes.output);
  });
}

void conv_block_backward_input(const ConvSize& block, const float* output_gradient, const int32_t* argmaxes,
                               const float* weight, float* input_gradient, float* scratch) {
  const ImageSizes sizes(block);
  const bool direct = has_direct_input(block);
  float* const turned = scratch + groups_of(block) * Workplace::size(block);
  direct ? transpose_each(block.filters, block.channels, block.kernel * block.kernel, weight, turned)
         : transpose(block.filters, block.window(), weight, turned);
  for_each_image(block, scratch, [&](const Workplace& place, int64_t image) {
    const float* const gradient = output_gradient + image * sizes.output;
    const int32_t* const of_image = argmaxes + image * sizes.output;
    float* const to = input_gradient + image * sizes.input;
    if (direct) {
      transpose(block.filters, block.maxima(), gradient, place.maxima);
      direct_backward_input(block, place.maxima, of_image, turned, to, place.columns);
    } else {
      input_by_products(block, gradient, of_image, turned, to, place);
    }
  });
}

void conv_block_backward_weights(const ConvSize& block, const float* input, const float* output_gradient,
                                 const int32_t* argmaxes, float* weight_gradient, float* bias_gradient,
                                 bool adds, float* scratch) {
  const ImageSizes sizes(block);
  const int64_t numbers = block.window() * block.filters;
  const bool direct = is_direct(block);
  float* const turned = scratch + groups_of(block) * Workplace::size(block);
  float* const straight = turned + whole_lines_of_floats(numbers);
  for_each_image(
      block, scratch,
      [&](const Workplace& place, int64_t image) {
        const float* const from = input + image * sizes.input;
        const float* const gradient = output_gradient + image * sizes.output;
        const int32_t* const of_image = argmaxes + image * sizes.output;
        if (direct) {
          transpose(block.filters, block.maxima(), gradient, place.maxima);
          direct_backward_weights(block, from, place.maxima, of_image, place.gradient,
                                  place.gradient + numbers, place.columns);
        } else {
          weights_by_products(block, from, gradient, of_image, place);
        }
      },
      [&](const Workplace& place) { std::fill_n(place.gradient, numbers + block.filters, 0.0F); });
  std::fill_n(turned, numbers, 0.0F);
  if (bias_gradient != nullptr && !adds) std::fill_n(bias_gradient, block.filters, 0.0F);
  for (int64_t group = 0; group < groups_of(block); ++group) {
    const Workplace place(block, scratch + group * Workplace::size(block));
    for (int64_t i = 0; i < numbers; ++i) turned[i] += place.gradient[i];
    for (int64_t i = 0; bias_gradient != nullptr && i < block.filters; ++i)
      bias_gradient[i] += place.gradient[numbers + i];
  }
  turn_back(block, turned, straight);
  for (int64_t i = 0; i < numbers; ++i)
    weight_gradient[i] = adds ? weight_gradient[i] + straight[i] : straight[i];
}

}  // namespace dtrain
