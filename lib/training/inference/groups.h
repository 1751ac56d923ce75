// The metrics of an evaluation by groups of its examples.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "judge/intervals.h"
#include "plan/job_plan.h"

namespace dtrain {

constexpr size_t kMostGroups = 1000;

struct GroupMetrics {
  std::string name;
  int64_t examples = 0;
  MetricValues metrics;
  NamedIntervals intervals;
};

// Of each group, by its name, its examples.
using ExampleGroups = std::map<std::string, std::vector<int64_t>>;

// `by`: of a table a column; of pictures "folder", or a pattern of their files' names, as data.split.group
// has it. Throws Error(kUsage) if the data have none or more than kMostGroups, Error(kData) as reading the
// column does and for a name that the pattern does not find.
ExampleGroups groups_of(const JobPlan& job, const ExampleSource& examples, const std::string& by);

// In the order of their names.
std::vector<GroupMetrics> metrics_by_group(const ExampleResults& results, const ExampleGroups& groups);

}  // namespace dtrain
