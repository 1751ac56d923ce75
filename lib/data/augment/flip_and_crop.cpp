// The operations that move pixels to places of other pixels.
#include <algorithm>
#include <cstring>

#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

void reverse_row(const uint8_t* from, uint8_t* to, int64_t width) {
  int64_t x = 0;
  for (; x + 8 <= width; x += 8) {
    uint64_t eight;
    std::memcpy(&eight, from + width - 8 - x, 8);
    eight = __builtin_bswap64(eight);
    std::memcpy(to + x, &eight, 8);
  }
  for (; x < width; ++x) to[x] = from[width - 1 - x];
}

int64_t reflected(int64_t at, int64_t size) {
  if (at < 0) return -at;
  return at < size ? at : 2 * (size - 1) - at;
}

void shift_row(const uint8_t* from, uint8_t* to, int64_t width, int64_t right, Border border) {
  const int64_t begin = std::clamp<int64_t>(-right, 0, width);  // of the columns that are in the picture
  const int64_t end = std::clamp<int64_t>(width - right, begin, width);
  std::copy_n(from + begin + right, end - begin, to + begin);
  const auto outside = [&](int64_t column) {
    return border == Border::kZero ? uint8_t{0} : from[reflected(column + right, width)];
  };
  for (int64_t x = 0; x < begin; ++x) to[x] = outside(x);
  for (int64_t x = end; x < width; ++x) to[x] = outside(x);
}

}  // namespace

void flip_horizontally(Picture& picture) {
  const int64_t width = picture.shape.width;
  for (int64_t at = 0; at < picture.shape.bytes(); at += width)
    reverse_row(picture.pixels + at, picture.spare + at, width);
  picture.swap();
}

void flip_vertically(Picture& picture) {
  const auto [channels, height, width] = picture.shape;
  for (int64_t channel = 0; channel < channels; ++channel) {
    uint8_t* plane = picture.pixels + channel * picture.shape.plane();
    for (int64_t y = 0; y < height / 2; ++y)
      std::swap_ranges(plane + y * width, plane + (y + 1) * width, plane + (height - 1 - y) * width);
  }
}

PictureChange make_flip(const KindFields& own) {
  const bool across = own.get<FlipFields>().direction == "horizontal";
  return [across](Picture& picture, RandomGenerator&) {
    across ? flip_horizontally(picture) : flip_vertically(picture);
  };
}

void shift(Picture& picture, int64_t down, int64_t right, Border border) {
  const auto [channels, height, width] = picture.shape;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const uint8_t* from = picture.pixels + channel * picture.shape.plane();
    uint8_t* to = picture.spare + channel * picture.shape.plane();
    for (int64_t y = 0; y < height; ++y, to += width) {
      int64_t row = y + down;
      if (border == Border::kReflect) row = reflected(row, height);
      if (row < 0 || row >= height) {
        std::fill_n(to, width, uint8_t{0});
      } else {
        shift_row(from + row * width, to, width, right, border);
      }
    }
  }
  picture.swap();
}

PictureChange make_random_crop(const KindFields& own) {
  const auto& [padding, mode] = own.get<ShiftFields>();
  const Border border = mode == "reflect" ? Border::kReflect : Border::kZero;
  return [most = padding, border](Picture& picture, RandomGenerator& random) {
    const auto draw = [&] {
      return static_cast<int64_t>(random.below(2 * static_cast<uint64_t>(most) + 1)) - most;
    };
    const int64_t down = draw();
    shift(picture, down, draw(), border);
  };
}

}  // namespace dtrain
