#include <set>

#include "job_file/rules.h"

namespace dtrain {
namespace {

class StrategyRules : private RuleBase {
 public:
  explicit StrategyRules(const RuleBase& base) : RuleBase(base) {}

  // What would make the bits depend on the number of replicas, or what needs all of them in each pass.
  void check_virtual_replicas() {
    const StrategySpec& strategy = spec_.strategy;
    if (!strategy.virtual_replicas || has_problem("strategy.virtual_replicas")) return;
    const char* const field = "strategy.virtual_replicas";
    refuse(
        "strategy.replicas", strategy.replicas.value_or(1) > *strategy.virtual_replicas,
        "{1}, but strategy.virtual_replicas: {0} has work for at most {0}; lower the one or raise the other",
        *strategy.virtual_replicas, strategy.replicas.value_or(1));
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

  // What needs all hosts in each step, or what hosts do not bring together.
  void check_local_steps() {
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

  // What the plugin of strategy.kind tpu and of train.step xla does not compute. That a model or a training
  // can be lowered is the plan's to check.
  void check_plugins() {
    if (has_problem("strategy.kind") || has_problem("train.step") || !spec_.uses_plugin()) return;
    const bool is_tpu = strategy_traits(spec_.strategy.kind).one_process;
    is_tpu ? check_tpu() : check_xla();
    const std::string by = is_tpu ? "tpu" : "xla";
    refuse("model.dtype", spec_.model.dtype != "float32", by + " computes in float32; leave it out");
    refuse("train.channels_last", spec_.train.channels_last,
           "the plugin chooses how pictures lie in memory; leave it out");
    refuse("batch.per_replica", spec_.batch.per_replica == kLargestThatFits,
           "auto measures the memory that dtrain's own steps take, and " + by +
               " computes by a plugin; write a number");
    refuse("batch.accumulate_steps", spec_.batch.accumulate_steps > 1,
           by + " computes a device's share of a batch in one pass; leave it out, and use more replicas or a "
                "smaller batch");
    refuse("metrics.inspect_step", spec_.metrics.inspect_step.has_value(),
           "looks into a step, which {} computes as one program; inspect it with {}", by,
           is_tpu ? "strategy.kind mirrored" : "train.step auto");
    refuse("callbacks.tensorboard_histograms", spec_.callbacks.tensorboard_histograms,
           "looks at gradients, which stay inside the programs of {}; leave it out", by);
    refuse("callbacks.profile.start_step", spec_.callbacks.profile.start_step.has_value(),
           "measures the operations of a step, which {} computes as one program; leave it out", by);
  }

 private:
  void check_tpu() {
    refuse("strategy.devices", spec_.strategy.devices.front() != "auto",
           "tpu computes on the devices of its plugin; leave it out");
    refuse("train.step", spec_.train.step != "auto", "the plugin compiles the steps of tpu; leave it out");
    const CudaSpec usual;
    const char* const for_gpus = "is for GPUs, and tpu computes on the devices of its plugin; leave it out";
    refuse("cuda.graphs", spec_.cuda.graphs != usual.graphs, for_gpus);
    refuse("cuda.tf32", spec_.cuda.tf32 != usual.tf32, for_gpus);
    refuse("cuda.cudnn_benchmark", spec_.cuda.cudnn_benchmark != usual.cudnn_benchmark, for_gpus);
  }

  void check_xla() {
    const StrategySpec& strategy = spec_.strategy;
    const StrategySpec usual;
    if (strategy.kind != "one_device" && strategy.kind != "mirrored") {
      add(is_written("train.step") ? "train.step" : "strategy.kind",
          "xla computes the steps of one_device and of mirrored, on the GPUs of one host, and strategy.kind "
          "is {}; leave it out, or use mirrored",
          strategy.kind);
      return;
    }
    const std::set<std::string> devices(strategy.devices.begin(), strategy.devices.end());
    refuse("strategy.devices", devices.contains("cpu"),
           "xla computes on GPUs; leave it out, or use train.step: auto, which is faster on processors");
    if (!has_problem("strategy.devices") && devices.size() < strategy.devices.size())
      add("strategy.devices", "lists a GPU twice, and xla gives each replica one of its own; list others");
    const char* const exchanged =
        "the program that xla compiles exchanges the gradients itself; leave it out";
    refuse("strategy.communication", strategy.communication != usual.communication, exchanged);
    refuse("strategy.compress", strategy.compress != usual.compress, exchanged);
    refuse("strategy.bucket_megabytes", strategy.bucket_megabytes != usual.bucket_megabytes, exchanged);
    refuse("cuda.graphs", !spec_.cuda.graphs,
           "is for steps that dtrain records, and xla compiles them; leave it out");
    refuse("cuda.cudnn_benchmark", spec_.cuda.cudnn_benchmark,
           "xla tries kernels itself, and keeps its choices; leave it out");
  }
};

}  // namespace

void check_strategies(const RuleBase& base) {
  StrategyRules rules(base);
  rules.check_virtual_replicas();
  rules.check_local_steps();
  rules.check_plugins();
}

}  // namespace dtrain
