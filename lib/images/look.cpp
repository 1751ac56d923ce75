#include "images/look.h"

#include <bit>

#include "images/fit.h"

namespace dtrain {

uint64_t difference_hash(const at::Tensor& image) {
  constexpr int64_t kRows = 8, kColumns = 9;
  const at::Tensor small = fit_images(image, {1, kRows, kColumns}, Fit::kStretch);
  const uint8_t* pixel = small.const_data_ptr<uint8_t>();
  uint64_t hash = 0;
  for (int64_t row = 0; row < kRows; ++row, pixel += kColumns) {
    for (int64_t column = 1; column < kColumns; ++column)
      hash = hash << 1U | static_cast<uint64_t>(pixel[column] > pixel[column - 1]);
  }
  return hash;
}

int hash_distance(uint64_t one, uint64_t other) { return std::popcount(one ^ other); }

}  // namespace dtrain
