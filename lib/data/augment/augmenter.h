// Applies data.augment to the examples of a job. All random numbers are functions of the job's seed, the
// example, how often it has been used, and the operation's position in the list. They do not depend on
// threads, replicas or earlier reads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "augment/operations.h"
#include "spec/spec.h"

namespace dtrain {

// An example as an epoch shows it.
struct Showing {
  int64_t epoch = 0;  // from 0
  int64_t example = 0;
  int64_t repeat = 0;  // how often the epoch has shown the example before
};

// Any number of threads may use one at once.
class Augmenter {
 public:
  Augmenter(const std::vector<AugmentSpec>& operations, const PictureShape& shape, uint64_t seed);

  // Changes, by the operations on single pictures, the example's picture, uint8 [channels, height, width].
  void change(const Showing& showing, uint8_t* pixels) const;

  // Whether pictures are mixed after that.
  bool mixes() const { return !mixtures_.empty(); }
  // How the example is mixed with another one of its global batch of `batch` examples; nullopt: it is not.
  std::optional<Mixture> mixture(const Showing& showing, int64_t batch) const;

 private:
  template <class Work>
  struct Step {
    double probability;
    Work work;
  };

  RandomGenerator random_of(const Showing& showing, size_t position) const;

  PictureShape shape_;
  uint64_t seed_;
  std::vector<Step<PictureChange>> changes_;
  std::vector<Step<MixtureDraw>> mixtures_;  // one of which is chosen, each as often as another
};

}  // namespace dtrain
