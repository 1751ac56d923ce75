// What the tests of this room share: small jobs, and a listener that keeps every event.
#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "data/dataset.h"
#include "metrics/event.h"
#include "plan/job_plan.h"

namespace dtrain {

class RecordingSink : public EventSink {
 public:
  std::vector<Event> events;
  void on_event(const Event& event) override { events.push_back(event); }
  std::vector<Event> of(const std::string& kind) const;
};

// "file:line:column: path: problem" lines.
std::string problems_of(const LoadedSpec& loaded);
std::string problems_of(const PlannedJob& planned);

// A whole spec: one_device on synthetic 1x4x4 images of 3 classes, 18 to train on in batches of 4 (the fifth
// has 2), 7 to evaluate, 3 epochs, a report every 2 steps and no step skipped. `overrides` as for --set.
LoadedSpec small_spec(const std::vector<std::string>& overrides = {});

// The plan of small_spec(overrides), which must have no problems.
JobPlan small_job(const std::vector<std::string>& overrides = {});

}  // namespace dtrain
