#include "step/copy_memory.h"

#include <ATen/ATen.h>

#include <cstring>
#include <utility>
#include <vector>

namespace dtrain {
namespace {

bool fits(const at::Tensor& kept, const at::Tensor& tensor) {
  return kept.sizes() == tensor.sizes() && kept.strides() == tensor.strides() &&
         kept.scalar_type() == tensor.scalar_type();
}

}  // namespace

at::Tensor host_memory_like(const at::Tensor& tensor) {
  return at::empty_like(tensor, tensor.options().device(at::kCPU).requires_grad(false));
}

at::Tensor CopyMemory::take(const std::string& name, const at::Tensor& tensor) {
  if (touched_.valid()) touched_.get();
  at::Tensor& kept = kept_[name];
  if (!kept.defined() || kept.use_count() > 1 || !fits(kept, tensor)) kept = host_memory_like(tensor);
  return kept;
}

void CopyMemory::prepare(const Variables& all) {
  if (touched_.valid()) touched_.get();
  kept_.clear();
  std::vector<std::pair<void*, size_t>> places;
  for (const auto& [name, tensor] : all) {
    const at::Tensor& kept = kept_[name] = host_memory_like(tensor);
    places.emplace_back(kept.mutable_data_ptr(), kept.nbytes());
  }
  touched_ = std::async(std::launch::async, [places = std::move(places)] {
    for (const auto& [place, bytes] : places) std::memset(place, 0, bytes);
  });
}

}  // namespace dtrain
