#include "augment/augmenter.h"

#include <algorithm>

#include "core/random.h"

namespace dtrain {

Augmenter::Augmenter(const std::vector<AugmentSpec>& operations, const PictureShape& shape, uint64_t seed)
    : shape_(shape), seed_(seed) {
  for (const AugmentSpec& operation : operations)
    steps_.push_back({probability_of(operation), make_operation(operation)});
}

RandomGenerator Augmenter::random_of(int64_t epoch, int64_t example, size_t position) const {
  uint64_t seed = seed_;
  for (const uint64_t part :
       {static_cast<uint64_t>(epoch), static_cast<uint64_t>(example), static_cast<uint64_t>(position)})
    seed = derive_seed(seed, SeedPurpose::kAugment, part);
  return RandomGenerator(seed);
}

void Augmenter::change(int64_t epoch, int64_t example, uint8_t* pixels) const {
  thread_local std::vector<uint8_t> spare;
  spare.resize(static_cast<size_t>(shape_.bytes()));
  Picture picture{pixels, spare.data(), shape_};
  for (size_t position = 0; position < steps_.size(); ++position) {
    RandomGenerator random = random_of(epoch, example, position);
    if (random.uniform() < steps_[position].probability) steps_[position].operation->apply(picture, random);
  }
  if (picture.pixels != pixels) std::copy_n(picture.pixels, shape_.bytes(), pixels);
}

}  // namespace dtrain
