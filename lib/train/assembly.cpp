#include "train/assembly.h"

#include "models/model.h"

namespace dtrain {

std::shared_ptr<Model> initial_model(const JobPlan& job) {
  return build_model(job.model, dtype_from_name(job.spec.model.dtype), static_cast<uint64_t>(job.spec.seed));
}

StrategyParts strategy_parts(const JobPlan& job, std::unique_ptr<ProcessGroup> group,
                             std::shared_ptr<PhaseClock> clock) {
  StrategyParts parts;
  parts.model = initial_model(job);
  parts.train = job.spec.train;
  parts.group = std::move(group);
  parts.clock = std::move(clock);
  parts.reducer.bucket_bytes = static_cast<int64_t>(job.spec.strategy.bucket_megabytes * (1 << 20));
  const std::string& compress = job.spec.strategy.compress;
  if (compress != "none") parts.reducer.wire_type = compress == "bf16" ? at::kBFloat16 : at::kHalf;
  return parts;
}

LoaderOptions train_options(const JobPlan& job, const RunPlan& run, int64_t rank) {
  LoaderOptions options;
  options.plan = run.batch;
  options.rank = rank;
  options.shuffle = job.spec.data.shuffle;
  options.seed = static_cast<uint64_t>(job.spec.seed);
  options.normalisation = {job.spec.data.mean, job.spec.data.standard_deviation};
  options.dtype = dtype_from_name(job.spec.model.dtype);
  options.prefetch = job.spec.data.prefetch;
  return options;
}

bool evaluates_on(const RunPlan& run, int64_t rank) {
  return run.evaluates && (rank == 0 || !run.is_asynchronous());
}

LoaderOptions test_options(const JobPlan& job, const RunPlan& run, int64_t rank) {
  LoaderOptions options = train_options(job, run, rank);
  const int64_t evaluating = run.is_asynchronous() ? 1 : run.replicas;
  options.shuffle = false;
  options.plan = BatchPlan{.per_replica = job.spec.evaluate.batch_per_replica,
                           .replicas = evaluating,
                           .accumulate_steps = 1,
                           .global = job.spec.evaluate.batch_per_replica * evaluating,
                           .drop_remainder = false};
  return options;
}

}  // namespace dtrain
