#include "augment/mixing.h"

#include <algorithm>
#include <cmath>

namespace dtrain {
namespace {

// As torchvision's CutMix draws it: around a pixel that any may be, cut off at the picture's border.
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

}  // namespace

std::optional<Mixture> draw_mixture(RandomGenerator& random, const std::vector<AugmentSpec>& operations,
                                    const PictureShape& shape, int64_t batch) {
  const AugmentSpec& operation = operations[random.below(operations.size())];
  if (random.uniform() >= operation.probability.value_or(1)) return std::nullopt;
  const bool cuts = operation.kind == "cutmix";
  Mixture mixture;
  mixture.partner = static_cast<int64_t>(random.below(static_cast<uint64_t>(batch)));
  mixture.share = random_beta(random, operation.alpha.value_or(cuts ? 1 : 0.2));
  if (!cuts) return mixture;
  mixture.box = draw_cut(random, shape, mixture.share);
  const int64_t pixels = mixture.box->height * mixture.box->width;
  mixture.share = 1 - static_cast<double>(pixels) / static_cast<double>(shape.plane());
  return mixture;
}

void mix(const Mixture& mixture, const PictureShape& shape, const uint8_t* picture, const uint8_t* partner,
         uint8_t* mixed) {
  const int64_t bytes = shape.bytes();
  if (!mixture.box) {
    const auto own = static_cast<float>(mixture.share), rest = static_cast<float>(1 - mixture.share);
    for (int64_t i = 0; i < bytes; ++i)
      mixed[i] = nearest_pixel(static_cast<float>(picture[i]) * own + static_cast<float>(partner[i]) * rest);
    return;
  }
  std::copy_n(picture, bytes, mixed);
  const Box& box = *mixture.box;
  for (int64_t channel = 0; channel < shape.channels; ++channel) {
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      const int64_t at = (channel * shape.height + y) * shape.width + box.left;
      std::copy_n(partner + at, box.width, mixed + at);
    }
  }
}

}  // namespace dtrain
