// Gathers tensors of all replicas on every replica.
#pragma once

#include <ATen/core/Tensor.h>

#include "comm/process_group.h"

namespace dtrain {

// Returns [group size, shape of `own`]: one row per rank, bit for bit. Collective.
at::Tensor gather_rows(ProcessGroup& group, const at::Tensor& own);

}  // namespace dtrain
