// Sums over examples, from which metrics are computed. They stay on the device, so that a step does not wait
// for them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "objective/objective.h"

namespace dtrain {

// The sums of a step or an evaluation: the sum of per-example losses, the number of examples, and the other
// sums that the objective names.
class MetricSums {
 public:
  // Sums over no examples. They take on the objective of the first sums added to them.
  MetricSums() = default;
  // `outputs`: of the model.
  MetricSums(const ObjectiveInfo& objective, int64_t outputs, at::Device device = at::kCPU);
  // Restores what named() returned. Throws Error(kCheckpoint) if the names are not those of the objective's
  // sums.
  MetricSums(const ObjectiveInfo& objective, int64_t outputs, const std::map<std::string, double>& named);
  // Adds one batch. `loss_sum` is the sum of its losses (a scalar).
  void add_batch(const Objective& objective, const at::Tensor& outputs, const at::Tensor& targets,
                 const at::Tensor& loss_sum);
  // Adds the sums of one batch, in the order of ObjectiveInfo::sum_names().
  void add_sums(const ObjectiveInfo& objective, const std::vector<double>& sums);
  // The same of sums on a device, of any floating-point type. Takes the tensor over.
  void add_sums(const ObjectiveInfo& objective, at::Tensor sums);
  // The same of sums that may still be computed: they are waited for when somebody looks, or when many others
  // have been added since.
  void add_pending(const ObjectiveInfo& objective, std::shared_future<std::vector<double>> sums);
  // Adds the pending sums to the others, and waits for them.
  void settle() { settle(0); }
  // Adds one batch of an evaluation: its evaluation loss, and what evaluations count besides. `keeps_rows`:
  // take_rows() has its examples.
  void add_evaluated(const Objective& objective, const at::Tensor& outputs, const at::Tensor& targets,
                     bool keeps_rows = false);
  // Adds sums of the same objective. Afterwards these sums are on the device of `other`.
  void add(const MetricSums& other);
  // The sums of virtual replicas as rows, one for each. Until values() are summed, they can only be added to
  // as many rows, and only examples() and loss() are known.
  static MetricSums rows_of(std::vector<MetricSums> rows);

  int64_t examples() const;
  double loss() const;  // mean over the examples; NaN if there are none
  // The metrics of the objective, NaN if there are no examples; with those of evaluations that have a value.
  MetricValues metrics() const;
  // The metrics of each output that has sums of its own, without the loss.
  std::vector<MetricValues> metrics_of_outputs() const;
  // The sums by name; empty if no objective is known.
  std::map<std::string, double> named() const;
  // float64, in the order of ObjectiveInfo::sum_names(): exact for counts up to 2^53; or rows of them. An
  // undefined tensor if no objective is known.
  at::Tensor& values();
  // The counts: int64 [rows, columns], on any device. An undefined tensor outside evaluations, or for a loss
  // without counts.
  at::Tensor& counts() { return counts_; }
  Counts counted() const;
  // A function for each batch with `keeps_rows` since the last call. It gives each example's evaluation loss,
  // targets and outputs, float32 [n, all of these], where the batch is, while the objective lives.
  using Rows = std::vector<std::function<at::Tensor()>>;
  Rows take_rows() { return std::exchange(rows_, {}); }

 private:
  static void add(at::Tensor& to, at::Tensor&& values);
  // Adds the pending sums to the values, in their order, until `left` are left.
  void settle(size_t left) const;
  // The values with all pending sums in them; undefined without any.
  const at::Tensor& settled() const {
    settle(0);
    return values_;
  }
  double at(int64_t index) const;
  std::vector<double> host_values() const;

  const ObjectiveInfo* objective_ = nullptr;
  mutable at::Tensor values_;  // without what is pending
  mutable std::deque<std::shared_future<std::vector<double>>> pending_;
  at::Tensor counts_;
  Rows rows_;
};

}  // namespace dtrain
