// batch_norm over all replicas' batches.
#pragma once

#include "comm/process_group.h"
#include "core/phase_clock.h"
#include "models/model.h"

namespace dtrain {

// From now on the model's statistics are those of all ranks' micro-batches of the same number, weighted by
// their examples: every forward and backward pass in training is collective. The group and the clock must
// outlive the model's use.
void synchronise_statistics(Model& model, ProcessGroup& group, PhaseClock& clock);

}  // namespace dtrain
