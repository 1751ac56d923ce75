// Which examples a model takes for something else.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/example_source.h"

namespace dtrain {

struct WrongExample {
  int64_t index = 0;  // among the examples
  ExampleName name = {};
  int64_t label = 0;       // its class
  int64_t prediction = 0;  // another one
  double probability = 0;  // of the prediction
  double of_label = 0;     // the probability of its class
};

// Those whose class had the least probability, the worst first: the same ones whatever the order in which
// they are added.
class WorstMistakes {
 public:
  explicit WorstMistakes(size_t most) : most_(most) {}

  void add(WrongExample example);
  // Adds what is wrong among the examples `indices`. Targets int64 [n], probabilities float64 [n, classes].
  void add_batch(const at::Tensor& targets, const at::Tensor& probabilities,
                 std::span<const int64_t> indices);
  // At most as many as the limit.
  std::vector<WrongExample> take();

 private:
  void keep_worst();

  size_t most_;
  std::vector<WrongExample> found_;
};

}  // namespace dtrain
