// The common part of a run's processes, for every way to start them.
#pragma once

#include <string>

#include "data/dataset.h"
#include "launch/identity.h"
#include "metrics/event.h"
#include "plan/job_plan.h"
#include "processes/status_board.h"

namespace dtrain {

// For replicas whose events nobody reads.
class NullSink : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

// "rank 1, process 4711: computing at step 120 for 0.2 s"
std::string describe_replica(const Identity& identity, const StatusBoard& board);

// Loads the job's data. Throws Error(kData) if they are not those for which the job was planned: the files
// may have changed since, or others be found.
Dataset planned_dataset(const JobPlan& job);

}  // namespace dtrain
