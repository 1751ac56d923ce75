// The part of the variables that a parameter server holds, and the optimizer of those that a phase trains. It
// uses no threads and no messages.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "models/model.h"
#include "optim/optimizer.h"
#include "parameter_server/partition.h"
#include "step/watched_optimizer.h"

namespace dtrain {

// Consecutive elements of a server's part that are trained, and whether weight decay applies to them.
struct TrainedRange {
  int64_t begin = 0;
  int64_t length = 0;
  bool decays = true;
};

// The ranges of `part` that the model's trained parameters have.
std::vector<TrainedRange> trained_ranges(const OptimizerSpec& optimizer, const Model& model,
                                         const ServerPart& part);

class ServedValues {
 public:
  // `values` [elements]: the initial values. None is trained before begin_phase(). The optimizers work
  // element by element, so training the parts on several servers equals training the whole. After every
  // `check_every` updates, the values are sealed and their growth is checked (WatchedOptimizer); 0: never.
  ServedValues(at::Tensor values, const OptimizerSpec& optimizer, double clip_norm, int64_t check_every);

  // From now on trains these ranges, with a new optimizer.
  void begin_phase(const std::vector<TrainedRange>& ranges);

  const at::Tensor& all() const { return values_; }
  int64_t trained_elements() const;
  // Copies the trained values, one range after the other, to `to` [trained_elements()].
  void copy_trained(at::Tensor& to) const;

  // Makes update number `version` with a gradient [trained_elements()]. Error(kDisagree): values are corrupt.
  void update(const at::Tensor& gradient, double learning_rate, int64_t version);
  // The growth since the last check; empty if it is not checked. Throws Error(kDisagree) for corrupt values.
  Growth check_growth();

  // Copies of the optimizer's memories, each [trained_elements()], and its steps.
  std::vector<at::Tensor> memories() const;
  int64_t memory_count() const { return optimizer_ ? std::ssize(optimizer_->memory()) : 0; }
  int64_t optimizer_steps() const { return optimizer_ ? optimizer_->steps() : 0; }
  // `all` [elements]; `memories` as memories() has them, or empty.
  void restore(const at::Tensor& all, const std::vector<at::Tensor>& memories, int64_t optimizer_steps);

 private:
  void require_unbroken();

  at::Tensor values_;
  const OptimizerSpec spec_;
  const double clip_norm_;
  const int64_t check_every_;
  std::vector<int64_t> lengths_;                 // of the phase's ranges
  std::vector<at::Tensor> pieces_;               // the values of each range: the optimizer's parameters
  std::unique_ptr<WatchedOptimizer> optimizer_;  // null: nothing is trained
};

}  // namespace dtrain
