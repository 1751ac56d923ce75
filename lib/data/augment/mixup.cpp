// Zhang et al. 2018, arXiv:1710.09412: every pixel is mixed.
#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

void mix_all(const Mixture& mixture, const PictureShape& shape, const uint8_t* picture,
             const uint8_t* partner, uint8_t* mixed) {
  const auto own = static_cast<float>(mixture.share), rest = static_cast<float>(1 - mixture.share);
  const int64_t bytes = shape.bytes();
  for (int64_t i = 0; i < bytes; ++i)
    mixed[i] = nearest_pixel(static_cast<float>(picture[i]) * own + static_cast<float>(partner[i]) * rest);
}

}  // namespace

MixtureDraw make_mixup(const KindFields& own) {
  const double alpha = own.get<MixingFields>().alpha.value_or(0.2);
  return [alpha](RandomGenerator& random, const PictureShape&) {
    return Mixture{.share = random_beta(random, alpha), .mix = mix_all};
  };
}

}  // namespace dtrain
