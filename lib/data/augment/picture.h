// One picture in memory.
#pragma once

#include <cstdint>
#include <utility>

namespace dtrain {

struct PictureShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  int64_t plane() const { return height * width; }
  int64_t bytes() const { return channels * plane(); }
};

// A rectangle of pixels.
struct Box {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

// uint8 [channels, height, width], contiguous, and memory for another one: what cannot be done in place is
// written there, and the two are swapped.
struct Picture {
  uint8_t* pixels = nullptr;
  uint8_t* spare = nullptr;
  PictureShape shape;

  void swap() { std::swap(pixels, spare); }
};

// The pixel nearest to a value from 0 to 255. std::lround() would be exact below 0 too, and is a call for
// each pixel, which compilers do not vectorise.
inline uint8_t nearest_pixel(float value) {
  return static_cast<uint8_t>(value + 0.5F);  // NOLINT(bugprone-incorrect-roundings)
}

}  // namespace dtrain
