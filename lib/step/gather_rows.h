// What each replica has, on all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include "comm/process_group.h"

namespace dtrain {

// Sums what at most one rank has set. As bytes, so that every value comes through bit for bit, negative zeros
// and numbers that are none included. Collective.
void gather(ProcessGroup& group, at::Tensor& zeros_elsewhere);

// [group size, shape of `own`]: a row for each rank. Collective.
at::Tensor gather_rows(ProcessGroup& group, const at::Tensor& own);

}  // namespace dtrain
