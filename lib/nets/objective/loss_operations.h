// A loss as operations of StableHLO: what its Objective computes.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "mlir/builder.h"
#include "objective/objective.h"

namespace dtrain {

// The loss of each row [rows] and its gradient [rows, outputs].
struct RowLosses {
  Value losses;
  Value gradient;
};

class LossOperations {
 public:
  LossOperations(const TrainSpec& train, const Value& outputs)
      : train_(train), outputs_(outputs), builder_(*outputs.builder) {}
  virtual ~LossOperations() = default;
  // The training losses for `targets`: i32 [rows] or [rows, outputs] of the outputs' type.
  virtual RowLosses rows(const Value& targets) = 0;
  // Each row's part of the sums that ObjectiveInfo::sum_names() has after the loss and the examples, but for
  // those of the targets alone: [rows], or [rows, outputs] where each output has a sum of its own.
  virtual std::vector<Value> sums(const Value& targets) = 0;

 protected:
  Value constant(double value) const { return builder_.like(outputs_, value); }
  Value mean(const Value& of_outputs) const {
    return builder_.sum(of_outputs, {1}) / static_cast<double>(outputs_.size(1));
  }
  Value total(const Value& of_outputs) const { return builder_.sum(of_outputs, {1}); }
  // Ones and zeros of the outputs' type.
  Value indicator(const Value& condition) const { return builder_.convert(condition, outputs_.element); }
  const std::vector<double>& class_weights() const { return train_.loss.class_weights.weights; }

  const TrainSpec& train_;
  Value outputs_;
  TextBuilder& builder_;
};

// [rows] as [rows, ...], the shape of `like`.
inline Value along_rows(const Value& of_rows, const Value& like) {
  return like.builder->broadcast(of_rows, {0}, like.shape);
}

// Without `Operations` the loss has no form in StableHLO.
template <class Loss, class Operations = void>
constexpr LossKind loss_kind(const char* name) {
  LossKind kind = {name, [](const TrainSpec& train) -> std::unique_ptr<Objective> {
                     return std::make_unique<Loss>(train);
                   }};
  if constexpr (!std::is_void_v<Operations>)
    kind.lower = [](const TrainSpec& train, const Value& outputs) -> std::unique_ptr<LossOperations> {
      return std::make_unique<Operations>(train, outputs);
    };
  return kind;
}

}  // namespace dtrain
