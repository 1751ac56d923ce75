// Selecting from a list of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace dtrain {

// The tensors with these numbers, in the order of `numbers`.
inline std::vector<at::Tensor> chosen(const std::vector<at::Tensor>& tensors,
                                      const std::vector<size_t>& numbers) {
  std::vector<at::Tensor> result;
  result.reserve(numbers.size());
  for (const size_t number : numbers) result.push_back(tensors[number]);
  return result;
}

}  // namespace dtrain
