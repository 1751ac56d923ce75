// callbacks.tensorboard_histograms: the distributions of weights and gradients.
#pragma once

#include <memory>
#include <vector>

#include "callbacks/callbacks.h"
#include "comm/process_group.h"
#include "metrics/tensorboard.h"
#include "plan/job_plan.h"
#include "step/train_step.h"

namespace dtrain {

// Histograms of the weights and the combined gradient of every parameter: "weights/NAME", "gradients/NAME",
// even if replicas hold different parts of them. Collective; every rank gets all histograms.
std::vector<NamedHistogram> histograms_of(const Model& model, const GradientReducer& reducer,
                                          ProcessGroup& group);

// Passes the histograms to `callbacks` at the last update of every epoch and of the run, on every replica.
GradientObserver histogram_observer(std::shared_ptr<Model> model, const RunPlan& run,
                                    CallbackList& callbacks);

}  // namespace dtrain
