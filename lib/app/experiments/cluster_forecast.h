// A job's forecast for several numbers of hosts: what it is made from, and its table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/event.h"
#include "plan/job_plan.h"

namespace dtrain {

// The forecast as JSON. `job` is the plan of `loaded` on one host; its steps are measured, or read from the
// folder of the run `from`. Throws Error(kUsage) if the link is none, or if the forecast does not cover the
// job; and the error of a run that fails.
Event forecast_cluster(const LoadedSpec& loaded, const JobPlan& job, const std::vector<int64_t>& hosts,
                       const std::string& link, const std::optional<std::string>& from);

// The same as a table and a chart, for a terminal that is `width` columns wide (0: no limit).
std::string forecast_table(const Event& forecast, int width);

}  // namespace dtrain
