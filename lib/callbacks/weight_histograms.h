// callbacks.tensorboard_histograms: the distributions of weights and gradients.
#pragma once

#include <memory>
#include <vector>

#include "callbacks/callbacks.h"
#include "comm/process_group.h"
#include "metrics/tensorboard.h"
#include "plan/job_plan.h"
#include "strategy/strategy.h"

namespace dtrain {

// Of every parameter of the model its weights and the combined gradient, whoever holds which part of it:
// "weights/NAME", "gradients/NAME". Collective; every rank gets all.
std::vector<NamedHistogram> histograms_of(const Model& model, const GradientReducer& reducer,
                                          ProcessGroup& group);

// Makes `parts` the parts of a strategy that tells `callbacks` the histograms at the last update of every
// epoch and of the run, and returns what has to be put around that strategy: it counts the steps, of which
// `done` were made before. Every replica does so.
using StrategyWrapper = std::function<std::unique_ptr<Strategy>(std::unique_ptr<Strategy>)>;
StrategyWrapper observe_histograms(StrategyParts& parts, const RunPlan& run, int64_t done,
                                   CallbackList& callbacks);

}  // namespace dtrain
