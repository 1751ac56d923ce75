// The operations that mix two pictures.
#include <algorithm>
#include <cmath>
#include <utility>

#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

// Zhang et al. 2018, arXiv:1710.09412: every pixel is mixed.
void mix_all(const Mixture& mixture, const PictureShape& shape, const uint8_t* picture,
             const uint8_t* partner, uint8_t* mixed) {
  const auto own = static_cast<float>(mixture.share), rest = static_cast<float>(1 - mixture.share);
  const int64_t bytes = shape.bytes();
  for (int64_t i = 0; i < bytes; ++i)
    mixed[i] = nearest_pixel(static_cast<float>(picture[i]) * own + static_cast<float>(partner[i]) * rest);
}

// Yun et al. 2019, arXiv:1905.04899: a box of the picture becomes the partner's. As torchvision's CutMix
// draws it: around a pixel that any may be, cut off at the picture's border.
Box draw_cut(RandomGenerator& random, const PictureShape& shape, double share) {
  const double half = 0.5 * std::sqrt(1 - share);
  const auto cut = [&](int64_t side) {
    const auto middle = static_cast<int64_t>(random.below(static_cast<uint64_t>(side)));
    const auto reach = static_cast<int64_t>(half * static_cast<double>(side));
    const int64_t begin = std::max<int64_t>(0, middle - reach);
    return std::pair(begin, std::min(side, middle + reach) - begin);
  };
  const auto [left, width] = cut(shape.width);
  const auto [top, height] = cut(shape.height);
  return {top, left, height, width};
}

void mix_box(const Mixture& mixture, const PictureShape& shape, const uint8_t* picture,
             const uint8_t* partner, uint8_t* mixed) {
  std::copy_n(picture, shape.bytes(), mixed);
  const Box& box = *mixture.box;
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      const int64_t at = (channel * shape.height + y) * shape.width + box.left;
      std::copy_n(partner + at, box.width, mixed + at);
    }
  }
}

}  // namespace

MixtureDraw make_mixup(const KindFields& own) {
  const double alpha = own.get<MixingFields>().alpha.value_or(0.2);
  return [alpha](RandomGenerator& random, const PictureShape&) {
    return Mixture{.share = random_beta(random, alpha), .mix = mix_all};
  };
}

MixtureDraw make_cutmix(const KindFields& own) {
  const double alpha = own.get<MixingFields>().alpha.value_or(1);
  return [alpha](RandomGenerator& random, const PictureShape& shape) {
    const Box box = draw_cut(random, shape, random_beta(random, alpha));
    const double part = static_cast<double>(box.height * box.width) / static_cast<double>(shape.plane());
    return Mixture{.share = 1 - part, .box = box, .mix = mix_box};
  };
}

}  // namespace dtrain
