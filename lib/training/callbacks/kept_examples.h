// Gathers what an evaluation by several replicas found of each example.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/example_results.h"
#include "plan/job_plan.h"

namespace dtrain {

// What this replica found in a pass over `examples` examples.
class KeptExamples {
 public:
  KeptExamples(const JobPlan& job, int64_t examples);
  // Whether they are few enough to be kept; the same on all replicas.
  bool are_kept() const;
  // MetricSums::take_rows() of the examples `indices`.
  void add(const std::vector<at::Tensor>& rows, std::span<const int64_t> indices);
  // Float32 [examples, 1 + numbers], on the host: where this replica has an example, 1 and its numbers,
  // otherwise zeros. The sum over the replicas has them all.
  at::Tensor placed() const;

 private:
  int64_t examples_, numbers_;
  std::vector<at::Tensor> rows_;
  std::vector<int64_t> indices_;
};

// Such a sum as the results of `part`, "test", "validation" or "train". nullopt if an example is missing: a
// step of a plug-in has no outputs.
std::optional<ExampleResults> results_of(const JobPlan& job, const std::string& part, const at::Tensor& sum);

}  // namespace dtrain
