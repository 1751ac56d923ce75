#include "job_file/rules.h"

namespace dtrain {
namespace {

// What would make the bits depend on the number of replicas, or what needs all of them in each pass.
class VirtualRules : private RuleBase {
 public:
  explicit VirtualRules(const RuleBase& base) : RuleBase(base) {}

  void check() {
    const StrategySpec& strategy = spec_.strategy;
    if (!strategy.virtual_replicas || has_problem("strategy.virtual_replicas")) return;
    const char* const field = "strategy.virtual_replicas";
    refuse("strategy.replicas", strategy.replicas.value_or(1) > *strategy.virtual_replicas,
           "{} replicas have no part each of strategy.virtual_replicas: {}; lower the one or raise the other",
           strategy.replicas.value_or(1), *strategy.virtual_replicas);
    refuse("batch.per_replica", spec_.batch.per_replica == kLargestThatFits,
           "auto depends on how many replicas share the memory; write a number, or leave {} out", field);
    refuse("train.step", spec_.uses_xla(), "xla computes all replicas in one program; leave it or {} out",
           field);
    refuse("strategy.compress", strategy.compress != "none",
           "rounds what a replica sends, so that the bits depend on their number; leave it or {} out", field);
    refuse("strategy.shard_optimizer", strategy.shard_optimizer,
           "sums in an order that depends on the number of hosts; leave it or {} out", field);
    refuse("train.sync_batch_norm", spec_.train.sync_batch_norm,
           "needs all parts of a batch at once, and a replica computes its own one after the other; leave it "
           "or {} out",
           field);
    refuse("strategy.devices", strategy.devices.front().starts_with("cuda"),
           "has GPUs, whose libraries do not give the same bits each time; use cpu, or leave {} out", field);
    refuse("metrics.inspect_step", spec_.metrics.inspect_step.has_value(),
           "shows what each replica computes by itself; leave it or {} out", field);
  }
};

}  // namespace

void check_virtual_replicas(const RuleBase& base) { VirtualRules(base).check(); }

}  // namespace dtrain
