#include <set>

#include "job_file/rules.h"

namespace dtrain {
namespace {

class PluginRules : private RuleBase {
 public:
  explicit PluginRules(const RuleBase& base) : RuleBase(base) {}

  void check() {
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

void check_plugins(const RuleBase& base) { PluginRules(base).check(); }

}  // namespace dtrain
