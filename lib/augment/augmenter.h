// What data.augment does to the examples of a job. All that is random is a function of the job's seed, the
// epoch, the example's index and the operation's position in the list, so it depends neither on threads and
// replicas nor on what was read before.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "augment/operations.h"
#include "augment/picture.h"
#include "spec/spec.h"

namespace dtrain {

// Any number of threads may use one at once.
class Augmenter {
 public:
  Augmenter(const std::vector<AugmentSpec>& operations, const PictureShape& shape, uint64_t seed);

  // Changes the picture of example `example`, uint8 [channels, height, width], as epoch `epoch` (from 0) has
  // it.
  void change(int64_t epoch, int64_t example, uint8_t* pixels) const;

 private:
  struct Step {
    double probability;
    std::unique_ptr<Operation> operation;
  };

  RandomGenerator random_of(int64_t epoch, int64_t example, size_t position) const;

  PictureShape shape_;
  uint64_t seed_;
  std::vector<Step> steps_;
};

}  // namespace dtrain
