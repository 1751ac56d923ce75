#include <algorithm>

#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

void erase(Picture& picture, const Box& box, uint8_t fill) {
  const auto [channels, height, width] = picture.shape;
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t y = box.top; y < box.top + box.height; ++y)
      std::fill_n(picture.pixels + (channel * height + y) * width + box.left, box.width, fill);
  }
}

}  // namespace

PictureChange make_random_erasing(const KindFields& own) {
  const auto scale = interval_of(own.get<BoxFields>().scale, {0.02, 0.33});
  const auto ratio = interval_of(own.get<BoxFields>().ratio, {1 / 3.3, 1 / 0.3});
  const auto fill = static_cast<uint8_t>(own.get<BoxFields>().fill);
  return [scale, ratio, fill](Picture& picture, RandomGenerator& random) {
    const auto box = draw_box(random, picture.shape, scale, ratio, /*margin=*/1);
    if (box) erase(picture, *box, fill);
  };
}

}  // namespace dtrain
