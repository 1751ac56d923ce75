// Losses: what training minimises, and the sums from which its metrics are computed. The table in
// traits/objectives.h has their names and metrics. Here a file defines a loss by its name, and the table in
// objective.cpp lists all.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/spec.h"
#include "traits/objectives.h"

namespace dtrain {

class LossOperations;
struct Value;

// The result of Objective::device_pass() for a batch.
struct DevicePass {
  at::Tensor gradient;  // of the outputs, in their shape; undefined: the loss has no such pass for this batch
  at::Tensor sums;      // in the order of info().sum_names(), of the outputs' type
};

class Objective {
 public:
  virtual ~Objective() = default;
  const ObjectiveInfo& info() const { return info_; }

  // The sum of the examples' losses, a scalar, computed from the model's outputs: as training minimises it,
  // and as evaluations report it (label smoothing, for instance, is part of the training loss only).
  // traits/objectives.cpp gives the shapes of `outputs` and `targets` of each loss.
  virtual at::Tensor training_loss(const at::Tensor& outputs, const at::Tensor& targets) const {
    return training_losses(outputs, targets).sum();
  }
  virtual at::Tensor evaluation_loss(const at::Tensor& outputs, const at::Tensor& targets) const {
    return evaluation_losses(outputs, targets).sum();
  }
  // The same of each example, [n].
  virtual at::Tensor evaluation_losses(const at::Tensor& outputs, const at::Tensor& targets) const {
    return training_losses(outputs, targets);
  }
  // The training loss of each example, [n]: training_loss() is their sum.
  virtual at::Tensor training_losses(const at::Tensor& outputs, const at::Tensor& targets) const = 0;
  // Instead of training_loss() and sum_up() in compiled steps, of float32 on a processor: writes the gradient
  // of `scale` times the training loss to `gradient`, and returns all sums, in the order of
  // info().sum_names(). nullopt: the loss has no such kernel, and autograd makes the gradient.
  virtual std::optional<std::vector<double>> run_kernel(const at::Tensor& /*outputs*/,
                                                        const at::Tensor& /*targets*/, double /*scale*/,
                                                        const at::Tensor& /*gradient*/) const {
    return std::nullopt;
  }
  // Instead of training_loss(), its backward pass and sum_up() in eager steps on a device: the gradient of
  // `scale` times the training loss, and all sums, in fewer operations. `outputs` has no autograd graph.
  // Keeps memory for each number of examples and `scale`, of which a training should have few; a recorded
  // step uses it as long as this object lives.
  virtual DevicePass device_pass(const at::Tensor& /*outputs*/, const at::Tensor& /*targets*/,
                                 double /*scale*/) const {
    return {};
  }
  // Writes the sums over these examples that info().sum_names() has after the loss and the examples into
  // `sums`: float64 [number of names], on the device of `outputs`. Uses few operations: for a small batch, a
  // device takes longer to start an operation than to compute it.
  virtual void sum_up(const at::Tensor& outputs, const at::Tensor& targets, const at::Tensor& sums) const = 0;
  // Writes the last of these sums, those of info().target_sums: float64 [info().target_sum_count(outputs)].
  virtual void sum_up_targets(const at::Tensor& /*targets*/, const at::Tensor& /*sums*/) const {}
  // The outputs that stand for the mean of what two outputs of the same examples predict: of probabilities,
  // the logits of their mean; of numbers, their mean.
  virtual at::Tensor averaged(const at::Tensor& outputs, const at::Tensor& others) const = 0;
  // The predictions: with `classes` the probability of each class, [n, classes]; otherwise the probability of
  // each yes, or numbers.
  virtual at::Tensor predictions(const at::Tensor& outputs, bool classes) const = 0;
  // An evaluation's counts for these examples, int64 [rows, columns] as traits/counts.h describes; an
  // undefined tensor without counts. The size depends on the number of outputs alone, so that a batch without
  // examples counts as many zeros.
  virtual at::Tensor count(const at::Tensor& /*outputs*/, const at::Tensor& /*targets*/) const { return {}; }

 protected:
  explicit Objective(const ObjectiveInfo& info) : info_(info) {}

 private:
  const ObjectiveInfo& info_;
};

// A loss as the table lists it.
struct LossKind {
  const char* name = nullptr;  // as in traits/objectives.h
  std::unique_ptr<Objective> (*make)(const TrainSpec& train) = nullptr;
  // Its form in StableHLO (objective/loss_operations.h); null: it has none.
  std::unique_ptr<LossOperations> (*lower)(const TrainSpec& train, const Value& outputs) = nullptr;
};

extern const LossKind kCrossEntropy, kBinaryCrossEntropy, kMeanSquaredError, kMeanAbsoluteError, kHuber,
    kLogCosh;

// Adds a plug-in's loss to the table.
void add_loss_kind(const LossKind* kind);

// Null if the table has no such name.
const LossKind* find_loss_kind(const std::string& name);

// Makes the loss of `train`. Throws Error(kBug) if it is not in the table: specs are checked earlier.
std::unique_ptr<Objective> make_objective(const TrainSpec& train);

// The middle of pictures [n, channels, height, width], `part` of their width and height, scaled to their
// size.
at::Tensor middle_of(const at::Tensor& pictures, double part);

// The outputs [n, ...] of `forward` for `inputs` [n, ...]. With evaluate.flip or zoom, the outputs that stand
// for the mean of its predictions for each picture, its mirror image, its middle and the mirror image of
// that. `forward` must not change what it returned before.
template <class Forward>
at::Tensor evaluated_outputs(const Objective& objective, const EvaluateSpec& evaluate,
                             const at::Tensor& inputs, const Forward& forward) {
  const auto both = [&](const at::Tensor& pictures) {
    const at::Tensor outputs = forward(pictures);
    return evaluate.flip ? objective.averaged(outputs, forward(pictures.flip({3}))) : outputs;
  };
  const at::Tensor outputs = both(inputs);
  return evaluate.zoom < 1 ? objective.averaged(outputs, both(middle_of(inputs, evaluate.zoom))) : outputs;
}

}  // namespace dtrain
