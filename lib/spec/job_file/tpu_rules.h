// The rules between the fields of a job on TPUs.
#pragma once

#include "job_file/rule_base.h"

namespace dtrain {

// Checks what the strategy tpu does not take. That a model or a training can be lowered is the plan's to
// check.
class TpuRules : private RuleBase {
 public:
  explicit TpuRules(LoadedSpec& loaded) : RuleBase(loaded) {}
  void check();
};

}  // namespace dtrain
