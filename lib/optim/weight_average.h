// An exponential moving average of the weights: what is evaluated and exported, while training goes on with
// the weights themselves (Polyak and Juditsky 1992, with a memory that fades;
// tf.train.ExponentialMovingAverage without its debiasing).
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer.h"

namespace dtrain {

// An optimizer and the average of what it makes of its parameters: a <- decay a + (1 - decay) p after each
// step. It is remembered like anything that the optimizer remembers of every element.
class WeightAverage : public Optimizer {
 public:
  static constexpr const char* kMemory = "weights";  // its name among memory()

  WeightAverage(std::unique_ptr<Optimizer> inner, const std::vector<at::Tensor>& parameters, double decay);

  // The average begins as what the parameters are now.
  void begin();
  // Puts the average where the parameters were, and these where the average was. No step is made before they
  // are exchanged again.
  void exchange();

  void begin_step(double learning_rate) override { inner_->begin_step(learning_rate); }
  using Optimizer::update;
  void update(const std::vector<size_t>& numbers) override;
  // Those of the inner one, and kMemory: the average, or, as long as they are exchanged, the parameters
  // that training goes on with.
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

}  // namespace dtrain
