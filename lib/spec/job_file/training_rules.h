// The rules of a spec between the fields of `train` and `phases`.
#pragma once

#include "job_file/rule_base.h"
#include "spec/schedule_kinds.h"

namespace dtrain {

class TrainingRules : private RuleBase {
 public:
  explicit TrainingRules(LoadedSpec& loaded) : RuleBase(loaded) {}
  void check();

 private:
  // `section`: where the schedule is written.
  void check_schedule(const std::string& section, const ScheduleSpec& schedule) {
    check_own(section, schedule_kind(schedule.kind).contradictions, schedule.own);
  }
  void check_phases();
  void check_precision();
  // Reports metrics that the loss does not have.
  void check_metrics();
  void check_loss();
};

}  // namespace dtrain
