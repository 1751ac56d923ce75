// The operations that move pixels to places between pixels.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

// The four pixels around a position in a picture with a border of one pixel, and its distance from the first.
struct Neighbours {
  int64_t first;
  float right;
  float down;

  uint8_t blend(const uint8_t* plane, int64_t stride) const {
    const uint8_t* const at = plane + first;
    const auto value = [at](int64_t offset) { return static_cast<float>(at[offset]); };
    const float above = value(0) + (value(1) - value(0)) * right;
    const float below = value(stride) + (value(stride + 1) - value(stride)) * right;
    return nearest_pixel(above + (below - above) * down);
  }
};

// `x` and `y` are -1 or more.
Neighbours neighbours(float x, float y, int64_t stride) {
  const auto column = static_cast<int64_t>(x + 1), row = static_cast<int64_t>(y + 1);
  return {row * stride + column, x + 1 - static_cast<float>(column), y + 1 - static_cast<float>(row)};
}

// Where the pixel at (x, y) comes from: matrix (x - centre, y - centre) + origin. Rows and columns are
// counted from the middle of the first pixel.
struct Movement {
  std::array<float, 4> matrix = {1, 0, 0, 1};  // x of x, x of y, y of x, y of y
  std::array<float, 2> centre = {};
  std::array<float, 2> origin = {};
};

// Bilinear, with `fill` outside of the picture.
void move_pixels(Picture& picture, const Movement& movement, uint8_t fill) {
  const auto [channels, height, width] = picture.shape;
  // With a border of `fill`, every pixel has four neighbours: positions are from -1 to one side.
  const int64_t stride = width + 3;
  thread_local std::vector<uint8_t> framed;
  std::vector<Neighbours> row(static_cast<size_t>(width));
  framed.assign(static_cast<size_t>(channels * (height + 3) * stride), fill);
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t y = 0; y < height; ++y)
      std::copy_n(picture.pixels + (channel * height + y) * width, width,
                  framed.data() + (channel * (height + 3) + y + 1) * stride + 1);
  }
  const auto& [matrix, centre, origin] = movement;
  for (int64_t y = 0; y < height; ++y) {
    const float down = static_cast<float>(y) - centre[1];
    for (int64_t x = 0; x < width; ++x) {
      const float right = static_cast<float>(x) - centre[0];
      const float from_x = matrix[0] * right + matrix[1] * down + origin[0];
      const float from_y = matrix[2] * right + matrix[3] * down + origin[1];
      row[static_cast<size_t>(x)] = neighbours(std::clamp(from_x, -1.0F, static_cast<float>(width)),
                                               std::clamp(from_y, -1.0F, static_cast<float>(height)), stride);
    }
    for (int64_t channel = 0; channel < channels; ++channel) {
      const uint8_t* from = framed.data() + channel * (height + 3) * stride;
      uint8_t* to = picture.spare + (channel * height + y) * width;
      for (const Neighbours& at : row) *to++ = at.blend(from, stride);
    }
  }
  picture.swap();
}

}  // namespace

void rotate(Picture& picture, double degrees, uint8_t fill) {
  const double radians = degrees * std::numbers::pi / 180;
  const auto cosine = static_cast<float>(std::cos(radians)), sine = static_cast<float>(std::sin(radians));
  const std::array<float, 2> middle = {static_cast<float>(picture.shape.width - 1) / 2,
                                       static_cast<float>(picture.shape.height - 1) / 2};
  move_pixels(picture, {{cosine, -sine, sine, cosine}, middle, middle}, fill);
}

void shear(Picture& picture, double columns, double rows, uint8_t fill) {
  constexpr std::array<float, 2> kCorner = {-0.5F, -0.5F};
  move_pixels(picture, {{1, static_cast<float>(columns), static_cast<float>(rows), 1}, kCorner, kCorner},
              fill);
}

void translate(Picture& picture, int64_t right, int64_t down, uint8_t fill) {
  move_pixels(picture, {.origin = {static_cast<float>(-right), static_cast<float>(-down)}}, fill);
}

PictureChange make_rotate(const KindFields& own) {
  const auto& given = own.get<RotateFields>().degrees;
  const Interval degrees = {given.size() == 1 ? -given[0] : given[0], given.back()};
  const auto fill = static_cast<uint8_t>(own.get<RotateFields>().fill);
  return [degrees, fill](Picture& picture, RandomGenerator& random) {
    rotate(picture, draw_between(random, degrees), fill);
  };
}

}  // namespace dtrain
