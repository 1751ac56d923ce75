// The optimizer of a training, with everything that the spec adds to it.
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"
#include "optim/weight_average.h"
#include "spec/spec.h"

namespace dtrain {

struct TrainingOptimizer {
  std::unique_ptr<Optimizer> optimizer;
  WeightAverage* average = nullptr;  // inside the optimizer; null: the spec wants none
};

// For `parameters`; those marked in `decayed` have weight decay.
TrainingOptimizer make_training_optimizer(const TrainSpec& train, const std::vector<at::Tensor>& parameters,
                                          const std::vector<bool>& decayed);

}  // namespace dtrain
