// Gathers tensors of all replicas on every replica.
#pragma once

#include <ATen/core/Tensor.h>

#include "comm/process_group.h"

namespace dtrain {

// Sums over the ranks a tensor whose every element is set on at most one rank and zero on the others. The sum
// is over bytes, so that every value arrives bit for bit, including negative zeros and NaN. Collective.
void gather(ProcessGroup& group, at::Tensor& zeros_elsewhere);

// Returns [group size, shape of `own`]: one row per rank. Collective.
at::Tensor gather_rows(ProcessGroup& group, const at::Tensor& own);

}  // namespace dtrain
