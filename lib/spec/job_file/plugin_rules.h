// The rules between the fields of a job whose steps a plugin computes: strategy.kind tpu, train.step xla.
#pragma once

#include "job_file/rule_base.h"

namespace dtrain {

// Checks what such a job does not take. That a model or a training can be lowered is the plan's to check.
class PluginRules : private RuleBase {
 public:
  explicit PluginRules(LoadedSpec& loaded) : RuleBase(loaded) {}
  void check();

 private:
  void refuse(const char* path, bool differs, const std::string& why);
  void check_xla();
  void check_tpu();
};

}  // namespace dtrain
