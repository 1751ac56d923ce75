#include "inference/mistakes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace dtrain {

void WorstMistakes::add(WrongExample example) {
  if (most_ == 0) return;
  found_.push_back(std::move(example));
  if (found_.size() >= 2 * most_) keep_worst();  // a constant time each
}

void WorstMistakes::add_batch(const at::Tensor& targets, const at::Tensor& probabilities,
                              std::span<const int64_t> indices) {
  const at::Tensor predicted = probabilities.argmax(1);
  const auto label_of = targets.accessor<int64_t, 1>(), prediction_of = predicted.accessor<int64_t, 1>();
  const auto probability = probabilities.accessor<double, 2>();
  for (int64_t row = 0; row < targets.size(0); ++row) {
    const int64_t label = label_of[row], prediction = prediction_of[row];
    if (label == prediction) continue;
    add({.index = indices[static_cast<size_t>(row)],
         .label = label,
         .prediction = prediction,
         .probability = probability[row][prediction],
         .of_label = probability[row][label]});
  }
}

std::vector<WrongExample> WorstMistakes::take() {
  keep_worst();
  return std::exchange(found_, {});
}

void WorstMistakes::keep_worst() {
  std::sort(found_.begin(), found_.end(), [](const WrongExample& a, const WrongExample& b) {
    return std::tie(a.of_label, a.index) < std::tie(b.of_label, b.index);
  });
  if (found_.size() > most_) found_.resize(most_);
}

}  // namespace dtrain
