// The sizes of a convolution.
#pragma once

#include <cstdint>

namespace dtrain {

struct ConvSize {
  int64_t examples = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t filters = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padded_above = 0;
  int64_t padded_left = 0;
  int64_t rows = 0;  // of the result
  int64_t columns = 0;

  int64_t pixels() const { return rows * columns; }
  int64_t maxima() const { return (rows / 2) * (columns / 2); }  // of 2x2 pixels
  int64_t window() const { return channels * kernel * kernel; }  // numbers that make a pixel
};

}  // namespace dtrain
