// Pixels as numbers, by a table of the 256 values that a pixel can have.
#pragma once

#include <cstdint>

namespace dtrain {

// Writes the numbers of one image of `pixels` pixels to `numbers`. `values` is one table for all of them, or
// `tables` tables one after the other, each for as many pixels: those of a channel. A table look-up is as
// fast as the arithmetic (gathering rows is memory-bound). A plain loop, because this runs at the same time
// as the replica's computation: LibTorch's parallel loops would take its threads.
template <typename T>
void map_pixels(const uint8_t* image, int64_t pixels, const T* values, int64_t tables, T* numbers) {
  const int64_t pixels_of_table = pixels / tables;
  for (int64_t table = 0; table < tables; ++table) {
    const T* value = values + table * 256;
    for (int64_t pixel = 0; pixel < pixels_of_table; ++pixel) numbers[pixel] = value[image[pixel]];
    image += pixels_of_table;
    numbers += pixels_of_table;
  }
}

}  // namespace dtrain
