#include "step/gather_rows.h"

#include <ATen/ATen.h>

namespace dtrain {

void gather(ProcessGroup& group, at::Tensor& zeros_elsewhere) {
  if (group.size() == 1 || zeros_elsewhere.numel() == 0) return;
  // All elements in memory order, which may be that of channels_last.
  at::Tensor bytes = zeros_elsewhere.as_strided({zeros_elsewhere.numel()}, {1}).view(at::kByte);
  group.all_reduce_sum(bytes);
}

at::Tensor gather_rows(ProcessGroup& group, const at::Tensor& own) {
  std::vector<int64_t> shape = own.sizes().vec();
  shape.insert(shape.begin(), group.size());
  at::Tensor rows = at::zeros(shape, own.options());
  rows.select(0, group.rank()).copy_(own);
  gather(group, rows);
  return rows;
}

}  // namespace dtrain
