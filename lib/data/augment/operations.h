// The operations of data.augment that change one picture by itself.
#pragma once

#include <memory>

#include "augment/picture.h"
#include "core/random.h"
#include "spec/spec.h"

namespace dtrain {

class Operation {
 public:
  virtual ~Operation() = default;
  // Changes the picture as `random` decides. Any number of threads may call this at once.
  virtual void apply(Picture& picture, RandomGenerator& random) const = 0;
};

// Makes the operation that `spec` describes. Throws Error(kBug) if there is none of that kind: specs are
// checked earlier.
std::unique_ptr<Operation> make_operation(const AugmentSpec& spec);

// The probability of an operation: that of the spec, or else the default of its kind.
double probability_of(const AugmentSpec& spec);

}  // namespace dtrain
