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

// Why an evaluation of so many does not keep the results of single examples: kTooManyExamples, or that there
// are none. Empty: it does.
std::string why_not_kept(const JobPlan& job, int64_t examples);

// `rows`, MetricSums::take_rows() of the examples `indices` of `count`, in their places: a row for each
// example, zeros where other replicas have it, so that the sum over the replicas has them all. Undefined if
// there are no rows.
at::Tensor placed_rows(const MetricSums::Rows& rows, const std::vector<int64_t>& indices, int64_t count);

// Such a sum as the results of `part`, "test", "validation" or "train", without `examples`.
ExampleResults results_of(const JobPlan& job, const std::string& part, const at::Tensor& sum);

// ExampleResults::examples: of a dataset of this name, with the same names and targets in the same order, and
// divided alike if the part comes from data.split. Not their place, which may differ between hosts.
std::string identity_of(const JobPlan& job, const ExampleResults& results, const ExampleSource& source);

}  // namespace dtrain
