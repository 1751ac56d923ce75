#include "comm/gradient_reducer.h"

#include <ATen/ATen.h>

#include <utility>

#include "core/range.h"

namespace dtrain {

GradientReducer::GradientReducer(std::vector<at::Tensor> parameters) : parameters_(std::move(parameters)) {
  for (size_t i = 0; i < parameters_.size(); ++i) parts_.push_back({i, 0, parameters_[i]});
}

// Every rank has all parts, and each is a whole parameter.
void GradientReducer::gather_parts(size_t /*memory*/, const std::vector<at::Tensor>& of_parts,
                                   const std::vector<at::Tensor>& whole) {
  for (size_t i = 0; i < whole.size(); ++i) whole[i].copy_(of_parts[i]);
}

void GradientReducer::zero_gradients() {
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

void GradientReducer::put_gradient(size_t parameter, const at::Tensor& gradient) {
  parameters_[parameter].mutable_grad() = gradient;
}

void GradientReducer::finish(const PartsSummed& summed) {
  if (!summed || parts_.empty()) return;
  summed(consecutive(size_t{0}, parts_.size()));
}

}  // namespace dtrain
