// Gathers what an evaluation by several replicas finds of each example.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "judge/example_results.h"
#include "objective/metric_sums.h"
#include "plan/job_plan.h"

namespace dtrain {

constexpr const char* kTooManyExamples =
    "the evaluation is too large to keep the results of its examples, so there are no intervals";

// Why an evaluation of `examples` examples does not keep the result of each: kTooManyExamples, or because a
// plug-in's step has no such results. Empty: it keeps them.
std::string why_not_kept(const JobPlan& job, int64_t examples);

// A table with a row for each of `count` examples: `rows` (MetricSums::take_rows() of the examples `indices`)
// in their places, and zeros for the examples of other replicas. So the sum of these tables over the replicas
// has all rows. Undefined if `rows` is empty.
at::Tensor placed_rows(const MetricSums::Rows& rows, const std::vector<int64_t>& indices, int64_t count);

// The sum of all placed_rows() as the results of `part` ("test", "validation", "train"), without `examples`.
ExampleResults results_of(const JobPlan& job, const std::string& part, const at::Tensor& sum);

// ExampleResults::examples. The same text means: data of the same name, the same names and targets in the
// same order and, for a part from data.split, the same split. The data may lie elsewhere on other hosts.
std::string identity_of(const JobPlan& job, const ExampleResults& results, const ExampleSource& source);

}  // namespace dtrain
