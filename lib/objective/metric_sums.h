// Sums over examples from which metrics are made; kept on the device so that a step need not wait for them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "objective/objective.h"

namespace dtrain {

// What a step or an evaluation adds up: the sum of per-example losses, the number of examples, and what the
// objective names besides.
class MetricSums {
 public:
  // Of no examples. It becomes a sum of the objective whose sums are added to it.
  MetricSums() = default;
  explicit MetricSums(const ObjectiveInfo& objective, at::Device device = at::kCPU);
  // What named() gave. Throws Error(kCheckpoint) when the names are not those of the objective's sums.
  MetricSums(const ObjectiveInfo& objective, const std::map<std::string, double>& named);
  // Of one batch, and the sum of its losses (a scalar).
  void add_batch(const Objective& objective, const at::Tensor& outputs, const at::Tensor& targets,
                 const at::Tensor& loss_sum);
  // Of the same objective. Afterwards these sums are on the device of `other`.
  void add(const MetricSums& other);

  int64_t examples() const;
  double loss() const;           // mean over the examples; NaN when there are none
  MetricValues metrics() const;  // all of the objective; NaN when there are no examples
  // By name; empty when no objective is known.
  std::map<std::string, double> named() const;
  // float64, in the order of ObjectiveInfo::sum_names(): exact for counts up to 2^53. Undefined when no
  // objective is known.
  at::Tensor& values() { return values_; }

 private:
  void add(at::Tensor&& values);
  double at(int64_t index) const;

  const ObjectiveInfo* objective_ = nullptr;
  at::Tensor values_;
};

}  // namespace dtrain
