#include "job_file/tpu_rules.h"

#include "traits/strategies.h"

namespace dtrain {

void TpuRules::check() {
  if (has_problem("strategy.kind") || !strategy_traits(spec_.strategy.kind).one_process) return;
  const auto refuse = [&](const char* path, bool differs, const char* why) {
    if (differs && usable(path)) add(path, why);
  };
  refuse("strategy.devices", spec_.strategy.devices.front() != "auto",
         "tpu computes on the devices of its plugin; leave it out");
  refuse("model.dtype", spec_.model.dtype != "float32", "tpu computes in float32; leave it out");
  refuse("train.step", spec_.train.step != "auto", "the plugin compiles the steps of tpu; leave it out");
  refuse("train.channels_last", spec_.train.channels_last,
         "the plugin chooses how pictures lie in memory; leave it out");
  refuse("batch.per_replica", spec_.batch.per_replica == kLargestThatFits,
         "auto measures the memory of processors and GPUs, and tpu computes elsewhere; write a number");
  refuse("batch.accumulate_steps", spec_.batch.accumulate_steps > 1,
         "tpu computes a device's share of a batch in one pass; leave it out, and use more replicas or a "
         "smaller batch");
  refuse("metrics.inspect_step", spec_.metrics.inspect_step.has_value(),
         "looks into a step, which tpu computes as one program; inspect it with strategy.kind mirrored");
  refuse("callbacks.tensorboard_histograms", spec_.callbacks.tensorboard_histograms,
         "looks at gradients, which stay inside the programs of tpu; leave it out");
  refuse("callbacks.profile.start_step", spec_.callbacks.profile.start_step.has_value(),
         "measures the operations of a step, which tpu computes as one program; leave it out");
  const CudaSpec usual;
  const char* const for_gpus = "is for GPUs, and tpu computes on the devices of its plugin; leave it out";
  refuse("cuda.graphs", spec_.cuda.graphs != usual.graphs, for_gpus);
  refuse("cuda.tf32", spec_.cuda.tf32 != usual.tf32, for_gpus);
  refuse("cuda.cudnn_benchmark", spec_.cuda.cudnn_benchmark != usual.cudnn_benchmark, for_gpus);
}

}  // namespace dtrain
