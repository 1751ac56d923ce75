// What a strategy costs where it has nothing to distribute.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "device/accelerator.h"
#include "metrics/event.h"
#include "plan/job_plan.h"

namespace dtrain {

// Trains one replica with the run's strategy and one with the baseline's on the same batches, step by step in
// turn, on the device of `accelerator` (null: the CPU), so that both see the same machine, and sends
// {"event": "overhead", "overhead": median step / median step - 1}.
void measure_overhead(const JobPlan& job, const RunPlan& run, const Dataset& dataset, EventSink& sink,
                      const std::shared_ptr<Accelerator>& accelerator = {});

}  // namespace dtrain
