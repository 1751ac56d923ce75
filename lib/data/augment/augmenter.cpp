#include "augment/augmenter.h"

#include <algorithm>

#include "core/random.h"

namespace dtrain {

Augmenter::Augmenter(const std::vector<AugmentSpec>& operations, const PictureShape& shape, uint64_t seed)
    : shape_(shape), seed_(seed) {
  for (const AugmentSpec& operation : operations) {
    if (operation.mixes()) {
      mixing_.push_back(operation);
    } else {
      steps_.push_back({probability_of(operation), make_operation(operation)});
    }
  }
}

RandomGenerator Augmenter::random_of(const Showing& showing, size_t position) const {
  uint64_t seed = seed_;
  for (const int64_t part : {showing.epoch, showing.example, static_cast<int64_t>(position)})
    seed = derive_seed(seed, SeedPurpose::kAugment, static_cast<uint64_t>(part));
  if (showing.repeat > 0)
    seed = derive_seed(seed, SeedPurpose::kAugment, static_cast<uint64_t>(showing.repeat));
  return RandomGenerator(seed);
}

void Augmenter::change(const Showing& showing, uint8_t* pixels) const {
  thread_local std::vector<uint8_t> spare;
  spare.resize(static_cast<size_t>(shape_.bytes()));
  Picture picture{pixels, spare.data(), shape_};
  for (size_t position = 0; position < steps_.size(); ++position) {
    RandomGenerator random = random_of(showing, position);
    if (random.uniform() < steps_[position].probability) steps_[position].operation->apply(picture, random);
  }
  if (picture.pixels != pixels) std::copy_n(picture.pixels, shape_.bytes(), pixels);
}

std::optional<Mixture> Augmenter::mixture(const Showing& showing, int64_t batch) const {
  if (!mixes()) return std::nullopt;
  RandomGenerator random = random_of(showing, steps_.size());
  return draw_mixture(random, mixing_, shape_, batch);
}

}  // namespace dtrain
