#include "images/look.h"

#include <bit>

#include "images/fit.h"

namespace dtrain {
namespace {

constexpr int64_t kSmall = 8, kLarge = 9;  // sides, in pixels

// Whether each pixel is brighter than the one `before` it, for 8 x 8 pixels that have one.
uint64_t differences(const at::Tensor& small, int64_t first_row, int64_t first_column, int64_t before) {
  const uint8_t* pixels = small.const_data_ptr<uint8_t>();
  const int64_t width = small.size(3);
  uint64_t bits = 0;
  for (int64_t row = first_row; row < first_row + kSmall; ++row) {
    for (int64_t column = first_column; column < first_column + kSmall; ++column) {
      const uint8_t* pixel = pixels + row * width + column;
      bits = bits << 1U | static_cast<uint64_t>(*pixel > *(pixel - before));
    }
  }
  return bits;
}

}  // namespace

Look look_of(const at::Tensor& image) {
  // In two steps: a large picture is scaled only once.
  const at::Tensor medium =
      fit_images(image, {image.size(1), kSmall * kLarge, kSmall * kLarge}, Fit::kStretch);
  const at::Tensor wide = fit_images(medium, {1, kSmall, kLarge}, Fit::kStretch).contiguous();
  const at::Tensor high = fit_images(medium, {1, kLarge, kSmall}, Fit::kStretch).contiguous();
  return {differences(wide, 0, 1, 1), differences(high, 1, 0, kSmall)};
}

bool look_alike(const Look& one, const Look& other) {
  return std::popcount(one.across ^ other.across) <= kMostBitsApart &&
         std::popcount(one.down ^ other.down) <= kMostBitsApart;
}

}  // namespace dtrain
