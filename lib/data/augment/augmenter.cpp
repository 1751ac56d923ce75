#include "augment/augmenter.h"

#include <algorithm>

#include "spec/augment_kinds.h"

namespace dtrain {

Augmenter::Augmenter(const std::vector<AugmentSpec>& operations, const PictureShape& shape, uint64_t seed)
    : shape_(shape), seed_(seed) {
  for (const AugmentSpec& operation : operations) {
    const OperationMethod& method = operation_method(operation.kind);
    const double probability = operation.probability.value_or(augment_kind(operation.kind).probability);
    if (method.change != nullptr)
      changes_.push_back({probability, method.change(operation.own)});
    else
      mixtures_.push_back({probability, method.mixture(operation.own)});
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
  for (size_t position = 0; position < changes_.size(); ++position) {
    RandomGenerator random = random_of(showing, position);
    if (random.uniform() < changes_[position].probability) changes_[position].work(picture, random);
  }
  if (picture.pixels != pixels) std::copy_n(picture.pixels, shape_.bytes(), pixels);
}

std::optional<Mixture> Augmenter::mixture(const Showing& showing, int64_t batch) const {
  if (!mixes()) return std::nullopt;
  RandomGenerator random = random_of(showing, changes_.size());
  const auto& [probability, draw] = mixtures_[random.below(mixtures_.size())];
  if (random.uniform() >= probability) return std::nullopt;
  const auto partner = static_cast<int64_t>(random.below(static_cast<uint64_t>(batch)));
  Mixture mixture = draw(random, shape_);
  mixture.partner = partner;
  return mixture;
}

}  // namespace dtrain
