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

}  // namespace dtrain
