#include "step/gather_rows.h"

#include <ATen/ATen.h>

namespace dtrain {

at::Tensor gather_rows(ProcessGroup& group, const at::Tensor& own) {
  std::vector<int64_t> shape = own.sizes().vec();
  shape.insert(shape.begin(), group.size());
  at::Tensor rows = at::zeros(shape, own.options());
  rows.select(0, group.rank()).copy_(own);
  if (group.size() == 1 || rows.numel() == 0) return rows;
  // Each element is zero on all ranks but one, and the sum is over bytes, so that every value arrives as it
  // is, including negative zeros and NaN.
  at::Tensor bytes = rows.view({-1}).view(at::kByte);
  group.all_reduce_sum(bytes);
  return rows;
}

}  // namespace dtrain
