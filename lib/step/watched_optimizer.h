// An optimizer that can tell whether anything but its steps has changed what it works on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "optim/growth_bound.h"
#include "optim/optimizer.h"

namespace dtrain {

// The largest magnitude among weights and their averages, and how large steps can have made it.
struct Growth {
  double largest = 0;
  double bound = 0;
  bool is_plausible() const { return largest <= bound; }  // what is not a number is not
};

// int64 [number of tensors], in the host's memory: of each the sum of its 32-bit words, computed where it
// lies. Any one bit that flips changes it. Of types of 4 bytes or more.
at::Tensor sums_of_words(const std::vector<at::Tensor>& tensors);

// Two ways to tell. A seal, a checksum of each parameter and of what the optimizer remembers of it, is made
// after a step and tested just before the next one changes the parameter: it finds every bit that flips in
// between. The growth since begin() finds at any time what has become larger than steps can make it.
class WatchedOptimizer : public Optimizer {
 public:
  WatchedOptimizer(std::unique_ptr<Optimizer> inner, const std::vector<at::Tensor>& parameters,
                   const GrowthBound& bound);

  // What is there now was put there: it is right, and no seal holds.
  void begin();
  // From now on every so many steps the update itself seals what it has changed.
  void seal_every(int64_t steps) { seal_every_ = steps; }
  // Seals all of it as it is now. On other devices than the CPU it does nothing: between two recorded steps
  // nobody could test the seals.
  void seal();
  // Whether a step has been made since seal(), hence the seals were tested. The same on all replicas.
  bool is_past_seal() const;
  // Tests the seals that were not tested yet.
  void test_seals();
  // The number of a parameter that was not as it was sealed.
  std::optional<size_t> broken() const { return broken_; }
  // Waits for the device. The next bound is from the largest magnitude now, unless that is not plausible.
  Growth check_growth();
  // A checksum of the bits of all parameters and of all that is remembered of them; on a device of their
  // sums_of_words(). Waits for it.
  uint64_t digest() const;

  void begin_step(double learning_rate) override;
  using Optimizer::update;
  void update(const std::vector<size_t>& numbers) override;
  std::vector<OptimizerMemory> memory() const override { return inner_->memory(); }
  size_t size() const override { return inner_->size(); }
  int64_t steps() const override { return inner_->steps(); }
  void set_steps(int64_t steps) override { inner_->set_steps(steps); }

 private:
  bool is_on_cpu() const;
  bool seals_this_step() const;
  void seal(size_t number, const std::vector<OptimizerMemory>& memories);
  double largest() const;
  void test_seal(size_t number, const std::vector<OptimizerMemory>& memories);

  std::unique_ptr<Optimizer> inner_;
  std::vector<at::Tensor> parameters_;
  GrowthBound bound_;
  std::vector<std::optional<uint64_t>> seals_;  // by parameter
  std::optional<int64_t> seal_every_;
  std::optional<int64_t> sealed_;  // after this step of the optimizer
  std::optional<size_t> broken_;
};

}  // namespace dtrain
