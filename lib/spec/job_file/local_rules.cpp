#include "job_file/rules.h"

namespace dtrain {
namespace {

// What needs all hosts in each step, or what hosts do not bring together.
class LocalRules : private RuleBase {
 public:
  explicit LocalRules(const RuleBase& base) : RuleBase(base) {}

  void check() {
    const StrategySpec& strategy = spec_.strategy;
    const char* const field = "strategy.local_steps";
    if (has_problem("strategy.local_steps.every")) return;
    if (!strategy.local_steps.every) {
      const OuterSpec usual, &outer = strategy.local_steps.outer;
      const std::string section = "strategy.local_steps.outer.";
      const char* const alone = "belongs to local steps; add strategy.local_steps.every, or leave it out";
      refuse(section + "kind", outer.kind != usual.kind, alone);
      refuse(section + "learning_rate", outer.learning_rate != usual.learning_rate, alone);
      refuse(section + "momentum", outer.momentum != usual.momentum, alone);
      refuse("strategy.compress", strategy.compress == "int8",
             "sums of gradients do not fit into 8 bits; use bf16, or strategy.local_steps between hosts");
      return;
    }
    refuse("strategy.virtual_replicas", strategy.virtual_replicas.has_value(),
           "{} gives each host weights of its own, so that the number of hosts matters; leave it or {} out",
           field, "strategy.virtual_replicas");
    refuse("strategy.shard_optimizer", strategy.shard_optimizer,
           "hosts with weights of their own update all of them, with {}; leave it or {} out", field, field);
    refuse("strategy.communication", strategy.communication == "gloo",
           "the replicas of a host exchange gradients in shared memory, with {}; use auto", field);
    refuse("train.precision", spec_.train.precision == "fp16_mixed",
           "hosts would scale their losses differently with {}; use bf16_mixed", field);
    refuse("train.ema.decay", spec_.train.ema.decay > 0,
           "what is evaluated are the outer weights of {}; leave it or {} out", field, field);
    refuse("receipts.every_steps", spec_.receipts.every_steps.has_value(),
           "hosts have different weights between the updates of {}; leave it or {} out", field, field);
    refuse("metrics.inspect_step", spec_.metrics.inspect_step.has_value(),
           "shows a step that all replicas make together; leave it or {} out", field);
  }
};

}  // namespace

void check_local_steps(const RuleBase& base) { LocalRules(base).check(); }

}  // namespace dtrain
