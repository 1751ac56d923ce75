#include "train/assembly.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/clock.h"
#include "core/error.h"
#include "images/cache_file.h"
#include "models/model.h"
#include "models/variables.h"
#include "plan/class_weights.h"
#include "plan/devices.h"
#include "plan/planned_step.h"

namespace dtrain {
namespace {

constexpr int64_t kDecodedAhead = 2;  // batches: pictures are decoded while the replica computes

bool decodes_while_reading(const JobPlan& job) {
  return is_picture_dataset(job.data.name) && job.spec.data.cache_in_use() == "none";
}

// Where XLA keeps which kernels were the fastest: beside the cache of pictures; empty: there is no place.
std::string kernel_choices() {
  std::string why;
  try {
    const std::filesystem::path folder = cache_folder().parent_path() / "xla";
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error && ::access(folder.c_str(), W_OK) == 0) return folder.string();
    why = folder.string() + " cannot be written";
  } catch (const Error&) {
    why = "neither XDG_CACHE_HOME nor HOME is set";
  }
  spdlog::warn("which kernels XLA finds the fastest is not kept, so runs may differ in the last bits: {}",
               why);
  return "";
}

constexpr int64_t kUploadedAhead = 4;  // batches: the processor collects some while the device computes

// Where batches are put together for a replica on a device.
void assemble_on(const Accelerator& accelerator, const JobPlan& job, LoaderOptions& options) {
  const std::string& where = job.spec.cuda.data;
  const int64_t bytes = job.data.stored_bytes(), room = accelerator.memory().free;
  const bool resident = !decodes_while_reading(job) && options.augment.empty() &&
                        (where == "resident" || (where == "auto" && bytes <= room / 4));
  options.device = accelerator.device();
  options.assembly = resident ? Assembly::kResident : Assembly::kUploaded;
  // The numbers that pixels of a byte each are converted to.
  const int64_t bytes_of_numbers = bytes * static_cast<int64_t>(at::elementSize(options.format.dtype));
  options.holds_numbers = job.data.has_pixels && bytes_of_numbers <= room / 16;
  if (resident) options.prefetch = 0;  // there is nothing to prepare
  if (!resident && options.prefetch == 0) options.prefetch = kUploadedAhead;
}

// `rank` yields its parts of each batch.
LoaderOptions loader_options(const JobPlan& job, const RunPlan& run, int64_t rank,
                             const Accelerator* accelerator, const BatchPlan& batch,
                             std::vector<AugmentSpec> augment) {
  LoaderOptions options;
  options.augment = std::move(augment);
  options.threads = run.threads_per_replica;
  options.plan = batch;
  if (run.one_process) {  // takes all of each batch, and divides it among its devices itself
    options.plan.parts = options.plan.accumulate_steps = 1;
    options.plan.per_replica = batch.global;
  } else {
    options.own = batch.parts == 1 ? Range{0, 1} : run.parts_of(rank);
  }
  options.shuffle = job.spec.data.shuffle;
  options.seed = static_cast<uint64_t>(job.spec.seed);
  options.format.channels_last = job.spec.train.channels_last;
  options.format.normalisation = normalisation_of(job.spec.data);
  options.format.dtype = dtype_from_name(job.spec.model.dtype);
  options.prefetch = job.spec.data.prefetch.value_or(decodes_while_reading(job) ? kDecodedAhead : 0);
  if (accelerator != nullptr) assemble_on(*accelerator, job, options);
  if (run.one_process) options.assembly = Assembly::kUploaded;  // it normalises on its devices
  return options;
}

}  // namespace

ProgramParts program_parts(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  const bool on_gpus = job.spec.uses_xla();
  return {.plugin = job.plugin,
          .gpus = on_gpus ? std::optional(GpuChoice{chosen_gpus(job.spec.strategy)}) : std::nullopt,
          .model = job.model,
          .form = executed_form(job, run, phase),
          .quick_compile = job.spec.strategy.quick_compile,
          .kernels_in = on_gpus ? kernel_choices() : ""};
}

TrainSpec training_of(const JobPlan& job, const RunPlan& run, const ExampleSource& examples) {
  TrainSpec train = job.spec.train;
  const auto is_eager = [&](const PhasePlan& phase) {
    return planned_step(job, run, phase).execution == "eager";
  };
  if (std::ranges::all_of(run.phases, is_eager)) train.step = "eager";
  ClassWeights& weights = train.loss.class_weights;
  if (weights.balanced) weights.weights = balanced_weights(examples.classes(), job.data.classes);
  return train;
}

std::shared_ptr<Model> initial_model(const JobPlan& job) {
  return build_model(job.model, dtype_from_name(job.spec.model.dtype), static_cast<uint64_t>(job.spec.seed));
}

void require_model_of(const JobPlan& job, const std::filesystem::path& checkpoint) {
  require_variables(*outline_model(job.model, dtype_from_name(job.spec.model.dtype)),
                    outline_of_model(checkpoint));
}

StrategyParts strategy_parts(const JobPlan& job, TrainSpec train, std::unique_ptr<ProcessGroup> group,
                             std::shared_ptr<StepClock> clock, std::shared_ptr<Accelerator> accelerator) {
  StrategyParts parts;
  parts.model = initial_model(job);
  parts.train = std::move(train);
  if (accelerator) parts.model->to(accelerator->device());
  if (accelerator && job.spec.train.channels_last) lay_channels_last(*parts.model);
  parts.accelerator = std::move(accelerator);
  // Gloo takes gradients through the processor, which a recording cannot hold. One replica sends none.
  parts.record_steps = job.spec.cuda.graphs && !job.spec.model.has_file() && job.spec.plugins.empty() &&
                       (job.communication != "gloo" || group->size() == 1);
  parts.timeout = to_milliseconds(job.spec.strategy.timeout_seconds);
  if (parts.train.precision == "fp16_mixed") parts.loss_scale = std::make_shared<LossScale>();
  parts.check_every = job.spec.checks.every_steps;
  parts.evaluate = job.spec.evaluate;
  parts.group = std::move(group);
  parts.clock = std::move(clock);
  parts.reducer.bucket_bytes = static_cast<int64_t>(job.spec.strategy.bucket_megabytes * (1 << 20));
  parts.reducer.virtual_replicas = job.spec.strategy.virtual_replicas.value_or(0);
  parts.reducer.shard_hosts = job.spec.strategy.shard_optimizer;
  parts.seed = static_cast<uint64_t>(job.spec.seed);
  const std::string& compress = job.spec.strategy.compress;
  parts.local_steps = job.spec.strategy.local_steps;
  if (parts.local_steps.every) {
    parts.encoding = encoding_from_name(compress);
  } else if (compress != "none") {
    parts.reducer.wire_type = compress == "bf16" ? at::kBFloat16 : at::kHalf;
  }
  return parts;
}

LoaderOptions train_options(const JobPlan& job, const RunPlan& run, int64_t rank,
                            const Accelerator* accelerator) {
  LoaderOptions options = loader_options(job, run, rank, accelerator, run.batch, job.spec.data.augment);
  options.balanced = job.spec.data.sampling == "balanced";
  if (run.one_process && resident_examples(job) > 0) {
    options.assembly = Assembly::kResident;
    options.prefetch = 0;  // there is nothing to prepare
  }
  return options;
}

bool evaluates_on(const RunPlan& run, int64_t rank) {
  return run.evaluates && (rank == 0 || !run.is_asynchronous());
}

LoaderOptions evaluation_options(const JobPlan& job, const RunPlan& run, int64_t rank,
                                 const Accelerator* accelerator) {
  const int64_t parts = run.is_asynchronous() ? 1 : run.parts();
  const BatchPlan batch{.per_replica = job.spec.evaluate.batch_per_replica,
                        .parts = parts,
                        .accumulate_steps = 1,
                        .global = job.spec.evaluate.batch_per_replica * parts,
                        .drop_remainder = false};
  LoaderOptions options = loader_options(job, run, rank, accelerator, batch, /*augment=*/{});
  options.shuffle = false;
  return options;
}

}  // namespace dtrain
