// Pictures for the tests of operations.
#pragma once

#include <cstdint>
#include <vector>

#include "augment/operations.h"
#include "core/random.h"

namespace dtrain::test {

// A picture that owns its memory.
struct OwnPicture {
  std::vector<uint8_t> pixels, spare;
  Picture picture;

  OwnPicture(PictureShape shape, std::vector<uint8_t> values)
      : pixels(std::move(values)), spare(pixels.size()), picture{pixels.data(), spare.data(), shape} {}
  OwnPicture(const OwnPicture&) = delete;
  OwnPicture& operator=(const OwnPicture&) = delete;

  std::vector<uint8_t> values() const { return {picture.pixels, picture.pixels + picture.shape.bytes()}; }
};

inline std::vector<uint8_t> noise(const PictureShape& shape, uint64_t seed = 1) {
  RandomGenerator random(seed);
  std::vector<uint8_t> pixels(static_cast<size_t>(shape.bytes()));
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  return pixels;
}

// The picture whose pixel at (channel, row, column) is value_at of that.
template <class ValueAt>
std::vector<uint8_t> picture_of(const PictureShape& shape, const ValueAt& value_at) {
  std::vector<uint8_t> pixels;
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    for (int64_t row = 0; row < shape.height; ++row) {
      for (int64_t column = 0; column < shape.width; ++column)
        pixels.push_back(static_cast<uint8_t>(value_at(channel, row, column)));
    }
  }
  return pixels;
}

}  // namespace dtrain::test
