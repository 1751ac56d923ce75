// An exponential moving average of the weights: the average is evaluated and exported, while training
// continues with the weights themselves (Polyak and Juditsky 1992, but with exponential weights;
// tf.train.ExponentialMovingAverage without its debiasing).
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"

namespace dtrain {

// An optimizer and the average of its parameters: a <- decay a + (1 - decay) p after each step. The average
// is part of memory(), like the optimizer's other per-element state.
class WeightAverage : public Optimizer {
 public:
  static constexpr const char* kMemory = "weights";  // its name among memory()

  WeightAverage(std::unique_ptr<Optimizer> inner, const std::vector<at::Tensor>& parameters, double decay);

  // Sets the average to the current parameters.
  void begin();
  // Swaps the parameters and the average. No step may be made until they are swapped back.
  void exchange();

  void begin_step(double learning_rate) override { inner_->begin_step(learning_rate); }
  using Optimizer::update;
  void update(const std::vector<size_t>& numbers) override;
  std::vector<at::Tensor> measure() override { return inner_->measure(); }
  // The memories of the inner optimizer, and kMemory: the average or, while they are exchanged, the
  // parameters that training continues with.
  std::vector<OptimizerMemory> memory() const override;
  size_t size() const override { return inner_->size(); }
  int64_t steps() const override { return inner_->steps(); }
  void set_steps(int64_t steps) override { inner_->set_steps(steps); }

 private:
  std::unique_ptr<Optimizer> inner_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> others_;  // the average, unless exchanged
  double decay_;
};

// The optimizer of a training, with everything that the spec adds to it.
struct TrainingOptimizer {
  std::unique_ptr<Optimizer> optimizer;
  WeightAverage* average = nullptr;  // inside the optimizer; null: the spec wants none
};

// For `parts`, each a whole parameter or a part of one, which is in `whole` with its name. `factors`: of the
// rate of each part; empty: 1.
TrainingOptimizer make_training_optimizer(const TrainSpec& train, const std::vector<at::Tensor>& parts,
                                          const std::vector<std::pair<std::string, at::Tensor>>& whole,
                                          const std::vector<double>& factors = {});

}  // namespace dtrain
