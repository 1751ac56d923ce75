// Pixels as numbers, by a table of the 256 values that a pixel can have.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace dtrain {

// Writes the numbers of one picture of `pixels` pixels as picture `row` of `numbers`, which has the type of
// `values`: [1, 256] for all pixels, or a table for each channel. A table look-up is as fast as the
// arithmetic (gathering rows is memory-bound). A plain loop, because this runs at the same time as the
// replica's computation: LibTorch's parallel loops would take its threads.
inline void map_pixels(const uint8_t* picture, int64_t pixels, const at::Tensor& values,
                       const at::Tensor& numbers, int64_t row) {
  const int64_t tables = values.size(0), pixels_of_table = pixels / tables;
  const auto map = [&]<typename T>(const T* value, T* number) {
    for (int64_t table = 0; table < tables; ++table) {
      for (int64_t pixel = 0; pixel < pixels_of_table; ++pixel) number[pixel] = value[picture[pixel]];
      picture += pixels_of_table;
      number += pixels_of_table;
      value += 256;
    }
  };
  if (values.scalar_type() == at::kFloat)
    map(values.const_data_ptr<float>(), numbers.mutable_data_ptr<float>() + row * pixels);
  else
    map(values.const_data_ptr<double>(), numbers.mutable_data_ptr<double>() + row * pixels);
}

}  // namespace dtrain
