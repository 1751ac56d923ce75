// Computes the features of a phase once: the outputs of the frozen first layers for every example.
#pragma once

#include "data/dataset.h"
#include "models/model.h"
#include "plan/phases.h"
#include "train/replica.h"

namespace dtrain {

// The dataset with the outputs of the first phase.features.layers layers of `model` in place of the inputs,
// in memory that the replicas of this host share. They compute it together, each a part; collective over
// them. Throws Error(kPeerLost) when one of them is gone.
Dataset with_features(const ReplicaContext& context, const PhasePlan& phase, Model& model,
                      const Dataset& dataset);

}  // namespace dtrain
