// Synchronises batch_norm statistics over all replicas' batches.
#pragma once

#include "comm/process_group.h"
#include "core/step_clock.h"
#include "models/model.h"

namespace dtrain {

// From now on, the model computes batch statistics over the micro-batches with the same number on all ranks,
// weighted by their examples. Every forward and backward pass in training becomes collective. The group and
// the clock must outlive the model's use.
void synchronise_statistics(Model& model, ProcessGroup& group, StepClock& clock);

}  // namespace dtrain
