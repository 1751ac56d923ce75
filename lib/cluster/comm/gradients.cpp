#include "comm/gradients.h"

#include <ATen/ATen.h>

#include <numeric>

namespace dtrain {

// Every rank has all parts, and each is a whole parameter.
void GradientReducer::gather_parts(const std::vector<at::Tensor>& of_parts,
                                   const std::vector<at::Tensor>& whole) {
  for (size_t i = 0; i < whole.size(); ++i) whole[i].copy_(of_parts[i]);
}

void drop_gradients_of(const std::vector<at::Tensor>& parameters) {
  for (const at::Tensor& parameter : parameters) parameter.mutable_grad().reset();
}

std::vector<size_t> all_of(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

std::vector<ParameterPart> whole_parts(const std::vector<at::Tensor>& parameters) {
  std::vector<ParameterPart> parts;
  for (size_t i = 0; i < parameters.size(); ++i) parts.push_back({i, 0, parameters[i]});
  return parts;
}

}  // namespace dtrain
