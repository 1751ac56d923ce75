// An optimizer that detects changes to its parameters and state that its steps did not make.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "optim/optimizer.h"
#include "optim/optimizer_kinds.h"

namespace dtrain {

// The largest magnitude among weights and their averages, and a bound on how large steps can have made it.
struct Growth {
  double largest = 0;
  double bound = 0;
  bool is_plausible() const { return largest <= bound; }  // NaN is not plausible
};

// int64 [number of tensors], in host memory: the sum of the 32-bit words of each tensor, computed on the
// tensor's device. Any single bit flip changes the sum. Types must have 4 bytes or more.
at::Tensor sums_of_words(const std::vector<at::Tensor>& tensors);

// It has two methods. A seal is a checksum of a parameter and its optimizer state. It is made after a step
// and tested just before the next step changes the parameter, so it finds every bit that flips in between.
// The growth check finds, at any time, values that have become larger since begin() than steps can make them.
class WatchedOptimizer : public Optimizer {
 public:
  WatchedOptimizer(std::unique_ptr<Optimizer> inner, const std::vector<at::Tensor>& parameters,
                   const GrowthBound& bound);

  // Call after the values were set from outside: they count as correct, and all seals are removed.
  void begin();
  // From now on, every `steps` steps, the update itself seals what it has changed.
  void seal_every(int64_t steps) { seal_every_ = steps; }
  // Seals all parameters and their state as they are now. Does nothing on devices other than the CPU: the
  // seals could not be tested between two recorded steps.
  void seal();
  // Whether a step has been made since seal(), so that the seals were tested. The same on all replicas.
  bool is_past_seal() const;
  // Tests the seals that have not been tested yet.
  void test_seals();
  // The number of a parameter whose seal was broken.
  std::optional<size_t> broken() const { return broken_; }
  // Waits for the device. The next bound starts from the current largest magnitude, unless that is not
  // plausible.
  Growth check_growth();
  // A checksum of the bits of all parameters and their optimizer state; on a device, of their
  // sums_of_words(). Waits for the device.
  uint64_t digest() const;

  void begin_step(double learning_rate) override;
  using Optimizer::update;
  void update(const std::vector<size_t>& numbers) override;
  std::vector<at::Tensor> measure() override;
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
  std::optional<int64_t> sealed_;  // the optimizer step after which the seals were made
  std::optional<size_t> broken_;
};

}  // namespace dtrain
