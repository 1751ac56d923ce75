// What a strategy costs where it has nothing to distribute.
#pragma once

#include <memory>

#include "comm/accelerator.h"
#include "data/dataset.h"
#include "metrics/event.h"
#include "train/job_plan.h"

namespace dtrain {

constexpr int64_t kOverheadSteps = 200;  // of each of the two

// Trains one replica with the run's strategy and one with the baseline's on the same batches, step by step in
// turn, on the device of `accelerator` (null: the CPU), so that both see the same machine, and sends
// {"event": "overhead", "overhead": median step / median step - 1}.
void measure_overhead(const JobPlan& job, const RunPlan& run, const Dataset& dataset, EventSink& sink,
                      const std::shared_ptr<Accelerator>& accelerator = {});

}  // namespace dtrain
