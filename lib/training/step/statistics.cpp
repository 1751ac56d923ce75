#include "step/statistics.h"

#include <ATen/ATen.h>

namespace dtrain {

void synchronise_statistics(Model& model, ProcessGroup& group, StepClock& clock) {
  if (group.size() == 1) return;
  model.synchronise([&group, &clock](const at::Tensor& own) {
    const at::NoGradGuard no_grad;
    at::Tensor rows = at::zeros({group.size(), own.numel()}, own.options());
    rows[group.rank()].copy_(own);
    clock.enter(StepTime::kCommunicate);
    group.all_reduce_sum(rows);
    clock.enter(StepTime::kCompute);
    return rows;
  });
}

}  // namespace dtrain
