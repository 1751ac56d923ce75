#include "optim/training_optimizer.h"

#include <utility>

#include "optim/decay_groups.h"

namespace dtrain {

TrainingOptimizer make_training_optimizer(const TrainSpec& train, const std::vector<at::Tensor>& parameters,
                                          const std::vector<bool>& decayed) {
  TrainingOptimizer made{make_optimizer(train.optimizer, parameters, decayed)};
  if (train.ema.decay == 0) return made;
  auto average = std::make_unique<WeightAverage>(std::move(made.optimizer), parameters, train.ema.decay);
  made.average = average.get();
  made.optimizer = std::move(average);
  return made;
}

}  // namespace dtrain
