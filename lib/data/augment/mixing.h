// mixup (Zhang et al. 2018, arXiv:1710.09412) and cutmix (Yun et al. 2019, arXiv:1905.04899): a picture
// becomes a mixture of itself and a partner, another one of its global batch, and has the classes of both.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "augment/picture.h"
#include "core/random.h"
#include "spec/spec.h"

namespace dtrain {

struct Mixture {
  int64_t partner = 0;     // its place in the global batch
  double share = 1;        // of the picture itself, 0 to 1; the rest is the partner's
  std::optional<Box> box;  // cutmix: this box is the partner's; nullopt: every pixel is mixed
};

// Chooses one of `operations`, which all mix, each as often as another, and draws what it does to an example
// of a global batch of `batch` examples. nullopt: the example stays as it is.
std::optional<Mixture> draw_mixture(RandomGenerator& random, const std::vector<AugmentSpec>& operations,
                                    const PictureShape& shape, int64_t batch);

// Writes the mixture of `picture` and `partner` to `mixed`.
void mix(const Mixture& mixture, const PictureShape& shape, const uint8_t* picture, const uint8_t* partner,
         uint8_t* mixed);

}  // namespace dtrain
