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

// The examples of each group, by the group's name.
using ExampleGroups = std::map<std::string, std::vector<int64_t>>;

// `by`: for a table, a column; for pictures, "folder" or a pattern of file names as in data.split.group.
// Throws Error(kUsage) if the examples have no names or more than kMostGroups groups, Error(kData) if the
// column cannot be read or a name does not match the pattern.
ExampleGroups groups_of(const JobPlan& job, const ExampleSource& examples, const std::string& by);

// The metrics of each group, in the order of the groups' names.
std::vector<GroupMetrics> metrics_by_group(const ExampleResults& results, const ExampleGroups& groups);

}  // namespace dtrain
