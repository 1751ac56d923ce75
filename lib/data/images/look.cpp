#include "images/look.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "images/fit.h"

namespace dtrain {
namespace {

constexpr int64_t kSmall = 8, kLarge = 9;  // sides, in pixels
constexpr int64_t kMedium = kSmall * kLarge;

// A grey picture, row by row. Plain loops over it: of small pictures, the calls of LibTorch took much longer
// than reading the file and decoding it.
struct Grey {
  int64_t height = 0, width = 0;
  std::vector<float> pixels;
};

Grey grey_of(const at::Tensor& image) {
  Grey grey{image.size(2), image.size(3), {}};
  grey.pixels.reserve(static_cast<size_t>(grey.height * grey.width));
  const auto* const bytes = image.const_data_ptr<uint8_t>();
  const int64_t colour = image.size(1) == 3 ? image.stride(1) : 0;
  for (int64_t row = 0; row < grey.height; ++row) {
    for (int64_t column = 0; column < grey.width; ++column) {
      const uint8_t* const pixel = bytes + row * image.stride(2) + column * image.stride(3);
      const int sum = 299 * pixel[0] + 587 * pixel[colour] + 114 * pixel[2 * colour];
      grey.pixels.push_back(static_cast<float>(sum) / 1000);
    }
  }
  return grey;
}

Grey transposed(const Grey& grey) {
  Grey result{grey.width, grey.height, std::vector<float>(grey.pixels.size())};
  for (int64_t row = 0; row < grey.height; ++row) {
    for (int64_t column = 0; column < grey.width; ++column)
      result.pixels[static_cast<size_t>(column * grey.height + row)] =
          grey.pixels[static_cast<size_t>(row * grey.width + column)];
  }
  return result;
}

// Scaled by a triangle as wide as two pixels of the result, as fit_images() does it.
Grey with_width(const Grey& grey, int64_t width) {
  Grey result{grey.height, width, std::vector<float>(static_cast<size_t>(grey.height * width))};
  const double scale = static_cast<double>(grey.width) / static_cast<double>(width);
  const double reach = std::max(scale, 1.0);
  for (int64_t column = 0; column < width; ++column) {
    const double centre = (static_cast<double>(column) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5));
    const auto last = std::min<int64_t>(grey.width, static_cast<int64_t>(centre + reach + 0.5));
    std::vector<float> weights;
    float all = 0;
    for (int64_t from = first; from < last; ++from) {
      const double away = std::abs(static_cast<double>(from) + 0.5 - centre) / reach;
      weights.push_back(static_cast<float>(std::max(0.0, 1 - away)));
      all += weights.back();
    }
    for (int64_t row = 0; row < grey.height; ++row) {
      const float* pixel = grey.pixels.data() + row * grey.width + first;
      float sum = 0;
      for (const float weight : weights) sum += weight * *pixel++;
      result.pixels[static_cast<size_t>(row * width + column)] = sum / all;
    }
  }
  return result;
}

// Whether each pixel of eight rows is brighter than the one to its left.
uint64_t differences(const Grey& nine_wide) {
  uint64_t bits = 0;
  for (size_t at = 0; at < nine_wide.pixels.size(); ++at) {
    if (at % kLarge == 0) continue;
    const bool brighter = std::lround(nine_wide.pixels[at]) > std::lround(nine_wide.pixels[at - 1]);
    bits = bits << 1U | static_cast<uint64_t>(brighter);
  }
  return bits;
}

}  // namespace

Look look_of(const at::Tensor& image) {
  const int64_t height = std::min(image.size(2), kMedium), width = std::min(image.size(3), kMedium);
  const bool is_small = image.size(2) == height && image.size(3) == width;
  const Grey medium =
      grey_of(is_small ? image : fit_images(image, {image.size(1), height, width}, Fit::kStretch));
  const Grey turned = transposed(medium);
  return {differences(transposed(with_width(transposed(with_width(medium, kLarge)), kSmall))),
          differences(transposed(with_width(transposed(with_width(turned, kLarge)), kSmall)))};
}

bool look_alike(const Look& one, const Look& other) {
  return std::popcount(one.across ^ other.across) <= kMostBitsApart &&
         std::popcount(one.down ^ other.down) <= kMostBitsApart;
}

}  // namespace dtrain
