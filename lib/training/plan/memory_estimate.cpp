#include "plan/memory_estimate.h"

#include <c10/util/accumulate.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "compiled/compiled_program.h"
#include "core/text.h"
#include "models/layer_kinds.h"
#include "optim/optimizer.h"
#include "optim/optimizer_kinds.h"
#include "plan/planned_step.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

constexpr int64_t kProgramBytes = int64_t{150} << 20;
// What an example needs changes little from there on, and products of sizes stay far from overflowing.
constexpr int64_t kMostPlanned = 4096;

// How many numbers the optimizer stores per parameter.
int64_t remembered(const TrainSpec& train) {
  int64_t most = 0;
  for (const auto& [spec, rate] : optimizer_groups(train))
    most = std::max<int64_t>(most, std::ssize(optimizer_method(spec.kind).memory(spec)));
  return most + (train.ema.decay > 0 ? 1 : 0);
}

int64_t replicas_of_host(const JobPlan& job, const RunPlan& run) {
  return std::max<int64_t>(1, run.replicas / std::max<int64_t>(1, std::ssize(job.spec.hosts)));
}

// Pictures are read when they are needed, or shared by the replicas of a host, as tables are.
int64_t data_bytes(const JobPlan& job, const RunPlan& run) {
  const int64_t sharing = replicas_of_host(job, run);
  if (has_columns(job.data.name)) return job.data.stored_bytes() / sharing;
  if (!is_picture_dataset(job.data.name)) return job.data.stored_bytes();
  if (job.spec.data.cache_in_use() != "memory") return 0;
  return prepared_bytes(job.data, job.spec.data) / sharing;
}

// Those of the phase that keeps the most, in memory that the replicas of a host share.
int64_t feature_bytes(const JobPlan& job, const RunPlan& run) {
  int64_t most = 0;
  for (const PhasePlan& phase : run.phases) {
    if (phase.features.layers > 0) most = std::max(most, phase.features.bytes);
  }
  return most / replicas_of_host(job, run);
}

bool is_compiled(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  return planned_step(job, run, phase).execution == "compiled";
}

int64_t per_example(const JobPlan& job, const RunPlan& run, const PhasePlan& phase) {
  const int64_t input = c10::multiply_integers(job.data.example_shape) * job.bytes_per_parameter;
  if (is_compiled(job, run, phase)) {
    const auto first = static_cast<size_t>(phase.layers.first);
    const int64_t examples = std::clamp<int64_t>(run.batch.per_replica, 1, kMostPlanned);
    return numbers_of_example(job.model.layers, first, examples) * job.bytes_per_parameter + input;
  }
  const bool mixed = job.spec.train.precision != "float32";
  const int64_t bytes = mixed ? 2 : job.bytes_per_parameter;
  int64_t kept = 0, at_once = 0;
  for (const PlacedLayer& layer : job.model.layers) {
    const LayerKind& kind = kind_of(layer);
    if (kind.is_view) continue;
    const int64_t outputs = c10::multiply_integers(layer.output_shape);
    const int64_t keeps = kind.keeps == nullptr ? 0 : kind.keeps(layer);
    kept += (outputs + keeps) * bytes;
    // A backward pass has two gradients of this size, or gradients of about all that the layer keeps.
    at_once = std::max({at_once, 2 * outputs * bytes, keeps * bytes});
  }
  return kept + at_once + input;
}

// The examples that a replica evaluates at once.
int64_t evaluated_at_once(const JobPlan& job, const RunPlan& run) {
  if (!run.evaluates || job.spec.model.is_program()) return 0;
  const int64_t examples = std::max(job.data.evaluated_examples(), job.data.test_examples);
  const int64_t parts = run.is_asynchronous() ? 1 : run.parts();
  return std::min(job.spec.evaluate.batch_per_replica, (examples + parts - 1) / parts);
}

// The outputs that exist at once: what the next layer reads, or a later one.
int64_t numbers_of_forward(const std::vector<PlacedLayer>& layers) {
  std::vector<int64_t> outputs;  // 0: the model's input
  int64_t most = 0, waits = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerKind& kind = kind_of(layers[i]);
    const int64_t input = layers[i].input;
    const int64_t read = input == kModelInput ? 0 : outputs[static_cast<size_t>(input)];
    outputs.push_back(kind.is_view ? read : c10::multiply_integers(layers[i].output_shape));
    if (kind.is_view) continue;
    const int64_t keeps = kind.keeps == nullptr ? 0 : kind.keeps(layers[i]);
    most = std::max(most, read + outputs.back() + keeps);
    if (i + 1 < layers.size() && !is_read_by_next(layers, i)) waits = std::max(waits, outputs.back());
  }
  return most + waits;
}

// Evaluations compute in full precision, and views of a picture are another input.
int64_t per_evaluated(const JobPlan& job, const RunPlan& run, const PhasePlan& phase, int64_t examples) {
  const EvaluateSpec& evaluate = job.spec.evaluate;
  const int64_t inputs = evaluate.flip || evaluate.zoom < 1 ? 2 : 1;
  const auto first = static_cast<size_t>(phase.layers.first);
  const int64_t numbers =
      is_compiled(job, run, phase)
          ? numbers_of_evaluated(job.model.layers, first, std::min(examples, kMostPlanned))
          : numbers_of_forward(job.model.layers);
  return (inputs * c10::multiply_integers(job.data.example_shape) + numbers) * job.bytes_per_parameter;
}

// Of a replica, where `replicas` divide the update of parameters of `trained` bytes.
int64_t optimizer_bytes(const JobPlan& job, int64_t trained, int64_t replicas) {
  const TrainSpec& train = job.spec.train;
  // The changes of all parameters, while it makes a step.
  const int64_t at_once = takes_norms(train) ? 1 : 0;
  int64_t largest = 0;  // of those that it takes whole, of which a replica may have this one alone
  for (const PlacedLayer& layer : job.model.layers)
    if (takes_whole(train)) largest = std::max(largest, layer.parameters * job.bytes_per_parameter);
  largest = std::min(largest, trained);
  // A matrix: its update, the products before and after a step of it, two factors.
  constexpr int64_t kOfLargest = 5;
  return (remembered(train) + at_once) * std::max(trained, largest * replicas) / replicas +
         kOfLargest * largest;
}

}  // namespace

MemoryEstimate estimate_memory(const JobPlan& job, const RunPlan& run) {
  const int64_t parameters = job.model.parameters() * job.bytes_per_parameter;
  int64_t trained = 0;  // by the phase that trains the most
  for (const PhasePlan& phase : run.phases)
    trained = std::max(trained, phase.parameters * job.bytes_per_parameter);
  const int64_t replicas = run.replicas;
  const bool on_one_host = job.communication == "shared_memory" || job.communication == "auto";
  const bool shared =
      run.training_processes() > 1 && !run.is_asynchronous() && on_one_host && job.spec.hosts.size() < 2;
  const bool one_copy = strategy_traits(run.strategy).shares_variables;
  // Whether hosts divide the optimizer (comm/sharded_reducer.h).
  const bool divided = job.spec.strategy.shard_optimizer && replicas > 1 && !shared;
  MemoryEstimate estimate;
  estimate.program = kProgramBytes;
  estimate.data = data_bytes(job, run) + feature_bytes(job, run);
  const int64_t variables = parameters + job.model.buffers() * job.bytes_per_parameter;
  estimate.parameters = variables;
  // Shared memory has one area of gradients per replica, and one area of parameters for all.
  if (shared && one_copy) estimate.parameters /= replicas;
  estimate.gradients = trained;
  if (shared) estimate.gradients += trained + (one_copy ? 0 : trained / replicas);
  if (divided && job.communication == "auto") estimate.parameters /= replicas_of_host(job, run);
  const auto two_buckets = static_cast<int64_t>(job.spec.strategy.bucket_megabytes * (2 << 20));
  if (!shared && replicas > 1)  // in transit
    estimate.gradients += divided ? std::min(trained, two_buckets) : trained;
  if (run.virtual_replicas > 0) {  // those that are not added up yet (comm/replica_tree.h)
    const auto own = static_cast<uint64_t>((run.virtual_replicas + replicas - 1) / replicas);
    const bool even = run.virtual_replicas % replicas == 0;  // else a replica's own are several nodes
    estimate.gradients += trained * std::bit_width(own - 1) * (even ? 1 : 2);
  }
  if (!run.is_asynchronous())
    estimate.optimizer = optimizer_bytes(job, trained, shared || divided ? replicas : 1);
  // The outer weights, their momentum, and what is exchanged with other hosts.
  if (run.traits().spans_hosts && job.spec.strategy.local_steps.every) estimate.optimizer += 4 * trained;
  if (run.traits().saves && job.spec.checkpoint.saves())
    estimate.checkpoint = (variables + remembered(job.spec.train) * trained) / replicas;
  estimate.evaluated = evaluated_at_once(job, run);
  for (const PhasePlan& phase : run.phases) {
    estimate.per_example = std::max(estimate.per_example, per_example(job, run, phase));
    if (estimate.evaluated > 0)
      estimate.per_evaluated =
          std::max(estimate.per_evaluated, per_evaluated(job, run, phase, estimate.evaluated));
    estimate.keeps_both = estimate.keeps_both || is_compiled(job, run, phase);
  }
  return estimate;
}

size_t largest_phase(const JobPlan& job, const RunPlan& run) {
  const auto need = [&](const PhasePlan& phase) {
    return std::pair(per_example(job, run, phase), phase.parameters);
  };
  return static_cast<size_t>(std::ranges::max_element(run.phases, {}, need)->index);
}

int64_t largest_batch(const MemoryEstimate& estimate, int64_t bytes, int64_t fixed) {
  const int64_t beside = fixed + (estimate.keeps_both ? estimate.evaluation() : 0);
  if (bytes <= beside) return 0;
  return (bytes - beside) / std::max<int64_t>(1, estimate.per_example);
}

std::optional<int64_t> largest_batch_here(const JobPlan& job, const RunPlan& run) {
  if (job.device_of(0) != "cpu" || job.spec.model.is_program() || !run.traits().trains) return std::nullopt;
  const MemoryEstimate estimate = estimate_memory(job, run);
  return largest_batch(estimate, memory_for_all() / run.processes(), estimate.fixed());
}

std::string memory_advice(const JobPlan& job, const RunPlan& run, const MemoryInUse& at_start,
                          int64_t replicas_here) {
  MemoryEstimate estimate = estimate_memory(job, run);
  const int64_t own = estimate.parameters + estimate.gradients + estimate.optimizer + estimate.checkpoint;
  const int64_t batch = run.batch.per_replica;
  std::string text = fmt::format(
      "by the plan a replica needs {} for its parameters, gradients, optimizer and checkpoints, and ",
      human_bytes(own));
  const bool is_program = job.spec.model.is_program();
  if (is_program)
    text += "more for what its program keeps of a batch";
  else
    text += fmt::format("{} for each example, so {} for a batch of {}", human_bytes(estimate.per_example),
                        human_bytes(own + batch * estimate.per_example), batch);
  const int64_t step = batch * estimate.per_example, evaluation = estimate.evaluation();
  if (evaluation > step)
    text += fmt::format(", and {} for an evaluation of {} at once (evaluate.batch_per_replica)",
                        human_bytes(evaluation), counted(estimate.evaluated, "example"));
  if (run.one_process) return text + "; use a smaller batch, or more replicas";
  const std::string smaller = "; use a smaller batch.per_replica with as many batch.accumulate_steps more";
  if (job.device_of(0) != "cpu" || is_program) return text + smaller;
  // The dataset is already counted in `at_start`.
  int64_t room = memory_for_all() / replicas_here - own - at_start.resident;
  if (const auto limit = address_space_limit()) room = std::min(room, *limit - own - at_start.address_space);
  const bool needs_more = evaluation > step && estimate.with_batch(batch) - estimate.fixed() > room;
  if (needs_more && step <= room) return text + "; use a smaller evaluate.batch_per_replica";
  if (needs_more || room <= evaluation) estimate.evaluated = 0;  // the step comes first
  const int64_t fits = largest_batch(estimate, room, 0);
  if (fits == 0) return text + "; not even a batch of 1 fits here: use a smaller model or fewer replicas";
  if (fits >= batch) return text + ", which should fit: others use the memory, too";
  const int64_t steps = fewest_passes(batch, fits);
  text += fmt::format(
      "; {} examples fit here: for the same update use --set batch.per_replica={} --set "
      "batch.accumulate_steps={}",
      with_separators(fits), batch / steps, run.batch.accumulate_steps * steps);
  if (job.spec.train.precision == "float32" && job.spec.model.dtype == "float32")
    text += "; train.precision: bf16_mixed halves what an example needs";
  return text;
}

}  // namespace dtrain
