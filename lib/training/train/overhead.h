// Measures the overhead of a strategy with a single replica.
#pragma once

#include <functional>
#include <memory>

#include "core/clock.h"
#include "data/dataset.h"
#include "device/accelerator.h"
#include "metrics/event.h"
#include "plan/job_plan.h"

namespace dtrain {

// How many steps each of the two strategies makes, including those that are not counted.
int64_t overhead_steps(const JobPlan& job, const RunPlan& run);

// Trains one replica with the run's strategy and one with the baseline's on the same batches, step by step in
// turn, on the device of `accelerator` (null: the CPU), so that both see the same machine. Sends {"event":
// "overhead", "step": ...} several times a second, and at the end {"overhead": median step / median step - 1,
// "uncertainty": half a 95 % confidence interval, as in RelativeCost}. `clock` is read before and after each
// step, of which the first is the baseline's.
void measure_overhead(const JobPlan& job, const RunPlan& run, const Dataset& dataset, EventSink& sink,
                      const std::shared_ptr<Accelerator>& accelerator = {},
                      const std::function<double()>& clock = steady_seconds);

}  // namespace dtrain
