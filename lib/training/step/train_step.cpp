#include "step/train_step.h"

#include <ATen/ATen.h>

#include <cmath>

#include "step/clipping.h"

namespace dtrain {

std::vector<GradientLook> looks_at(int64_t step, const std::vector<GradientObserver>& observers) {
  std::vector<GradientLook> looks;
  for (const GradientObserver& observer : observers) {
    if (!observer.wants(step)) continue;
    looks.push_back([step, &observer](const GradientReducer& reducer, ProcessGroup& group) {
      observer.look(step, reducer, group);
    });
  }
  return looks;
}

bool unscale_gradient(const StepParts& parts) {
  if (parts.loss_scale == nullptr) return true;
  const double scale = parts.loss_scale->value();
  const at::Tensor norm = gradient_norm(parts.reducer, parts.group);
  const bool finite = std::isfinite(norm.item<double>());
  if (finite) scale_gradient(parts.reducer, at::full_like(norm, 1 / scale));
  parts.loss_scale->update(finite);
  return finite;
}

void clip_gradient(const StepParts& parts) {
  if (parts.train.clip_norm == 0) return;
  const at::Tensor norm = gradient_norm(parts.reducer, parts.group);
  scale_gradient(parts.reducer, clipping_factor(norm, parts.train.clip_norm));
}

MetricSums train_step(const StepParts& parts, StepExecution& execution, Optimizer& optimizer,
                      const std::vector<GradientLook>& looks, const Share& share) {
  const auto update = [&](const auto&... numbers) {
    parts.clock.enter(StepTime::kUpdate);
    optimizer.update(numbers...);
    parts.clock.enter(StepTime::kCommunicate);
  };
  const bool whole_first = parts.loss_scale != nullptr || parts.train.clip_norm != 0 || !looks.empty();
  MetricSums sums = execution.gradients(share, whole_first ? PartsSummed() : update);
  if (whole_first) {
    if (!unscale_gradient(parts)) {
      optimizer.set_steps(optimizer.steps() - 1);  // takes back begin_step(): the step is not made
      parts.clock.enter(StepTime::kUpdate);
      return sums;
    }
    for (const GradientLook& look : looks) look(parts.reducer, parts.group);
    clip_gradient(parts);
    update();
  }
  parts.reducer.share_update();
  parts.clock.enter(StepTime::kUpdate);
  return sums;
}

}  // namespace dtrain
