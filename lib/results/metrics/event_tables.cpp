#include "metrics/event_tables.h"

namespace dtrain {
namespace {

const char* const kWithSplit = "with `data.split`";

}  // namespace

const EventTable<StepSpeed>& StepSpeed::table() {
  static const EventTable<StepSpeed> table{
      "",
      "",
      {{"examples_per_second", &StepSpeed::examples_per_second, "examples/s",
        "of all replicas together ([how it is computed](#formulas))", "when steps were timed"},
       {"step_ms", &StepSpeed::step_ms, "ms", "what a step takes, a [median](#formulas)",
        "when steps were timed"}}};
  return table;
}

const EventTable<StepTraffic>& StepTraffic::table() {
  static const EventTable<StepTraffic> table{
      "",
      "",
      {{"bytes_sent", &StepTraffic::bytes_sent, "bytes",
        "sent through sockets in a step, on average ([how they are counted](#formulas))",
        "where sockets are used"},
       {"bytes_received", &StepTraffic::bytes_received, "bytes", "received likewise",
        "where sockets are used"}}};
  return table;
}

const EventTable<DeviceUse>& DeviceUse::table() {
  static const EventTable<DeviceUse> table{
      "",
      "",
      {{"device_memory_bytes", &DeviceUse::device_memory_bytes, "bytes",
        "the largest amount of the GPU's memory that the tensors of replica 0 have taken", "on a GPU"},
       {"device_memory_total_bytes", &DeviceUse::device_memory_total_bytes, "bytes", "the GPU's memory",
        "on a GPU"},
       {"device_utilisation", &DeviceUse::device_utilisation, "0 to 1",
        "the fraction of the last moments in which the GPU of replica 0 was computing, as reported by "
        "NVIDIA's driver",
        "on a GPU"}}};
  return table;
}

const EventTable<RestartCost>& RestartCost::table() {
  static const EventTable<RestartCost> table{
      "",
      "",
      {{"restarts", &RestartCost::restarts, "", "how often the run was restarted", "when it was"},
       {"lost_seconds", &RestartCost::lost_seconds, "s",
        "how much time that cost: repeated training, and waiting to continue", "when it was restarted"}}};
  return table;
}

const EventTable<RunStartEvent>& RunStartEvent::table() {
  using E = RunStartEvent;
  static const EventTable<E> table{
      "run_start",
      "before the first step",
      {{"name", &E::name, "", "the job's name"},
       {"folder", &E::folder, "", "the run's folder, an absolute path", "when the run has one"},
       {"strategy", &E::strategy, "", "[how it is distributed](strategies.md)"},
       {"strategy_fallback", &E::strategy_fallback, "", "why `strategy` takes the place of `tpu`",
        "when it does"},
       {"replicas", &E::replicas, "", "with `parameter_server`: workers"},
       {"devices", &E::devices, "", "one entry for each replica"},
       {"servers", &E::servers, "processes", "that hold the variables", "with `parameter_server`"},
       {"max_staleness", &E::max_staleness, "updates", "the bound of the staleness",
        "with `parameter_server` and if there is a bound"},
       {"threads_per_replica", &E::threads_per_replica, "threads", ""},
       {"global_batch", &E::global_batch, "examples",
        "of one optimizer step: `per_replica_batch` x `replicas` x `accumulate_steps`; with "
        "`parameter_server`, of one step of every worker"},
       {"per_replica_batch", &E::per_replica_batch, "examples", ""},
       {"accumulate_steps", &E::accumulate_steps, "micro-batches", ""},
       {"learning_rate", &E::learning_rate, "", "after scaling"},
       {"learning_rate_derivation", &E::learning_rate_derivation, "", "how it was computed, in words"},
       {"warmup_steps", &E::warmup_steps, "steps", "over how many the learning rate rises at the beginning"},
       {"phases", &E::phases, "",
        "how many [phases](transfer.md#phases) the training has; the learning rate is that "
        "of the first",
        "with `phases`"},
       {"steps_per_epoch", &E::steps_per_epoch, "steps", ""},
       {"epochs", &E::epochs, "", ""},
       {"total_steps", &E::total_steps, "steps", ""},
       {"resumed_step", &E::resumed_step, "steps", "the checkpoint's step",
        "when the run resumes from a checkpoint"},
       {"train_examples", &E::train_examples, "examples", "without the validation part"},
       {"validation_examples", &E::validation_examples, "examples", "in the validation part", kWithSplit},
       {"test_examples", &E::test_examples, "examples", ""},
       {"bad_examples", &E::bad_examples, "examples",
        "pictures that cannot be read and are [left out](data.md#bad-pictures)",
        "with `data.on_bad_example: skip`"},
       {"dataset", &E::dataset, "", "the dataset that is used"},
       {"dataset_source", &E::dataset_source, "", "where it was found"},
       {"dataset_requested", &E::dataset_requested, "",
        "the dataset that the spec asks for and that was not found", "when `dataset` is a fallback"},
       {"parameters", &E::parameters, "", "the number of trainable numbers in the model"},
       {"weights", &E::weights, "", "the file with the weights that it starts from", "with `model.weights`"},
       {"weights_sha256", &E::weights_sha256, "", "that file's SHA-256", "with `model.weights`"},
       {"dtype", &E::dtype, "", "type of the model's numbers"},
       {"precision", &E::precision, "", "of forward and backward pass"},
       {"execution", &E::execution, "",
        "[how a step is computed](training.md#steps): `compiled`, `eager`, `recorded` or, by a "
        "[plugin](tpu.md), `stablehlo`"},
       {"execution_reason", &E::execution_reason, "",
        "why it is `eager`, or which plugin compiles the `stablehlo` and how many steps a call makes",
        "when it is"},
       {"products", &E::products, "",
        "how matrices are multiplied on a processor: `brgemm` (oneDNN's kernels) or `mm` (LibTorch's own)",
        "when the devices are processors"},
       {"seed", &E::seed, "", ""},
       {"host", &E::host, "", "the host of rank 0"},
       {"processor", &E::processor, "", "its processor's name as the kernel reports it"},
       {"skipped_steps", &E::skipped_steps, "steps", "how many at the beginning the timing leaves out"},
       {"dtrain", &E::dtrain, "", "its version"},
       {"libtorch", &E::libtorch, "", "its version"}}};
  return table;
}

const EventTable<StepEvent>& StepEvent::table() {
  using E = StepEvent;
  static const EventTable<E> table{
      "step",
      "every `metrics.every_steps` steps, about the steps since the last one",
      {{"epoch", &E::epoch, "", "counted from 1"},
       {"step", &E::step, "", "counted from 1 over the whole run"},
       {"", &E::metrics, "", "of the training examples"},
       {"learning_rate", &E::learning_rate, "", ""},
       {"gradient_norm", &E::gradient_norm, "",
        "the L2 norm of the last step's gradient, summed over the replicas, before `train.clip_norm`",
        "with a strategy other than `parameter_server`; where a GPU replays recorded steps, in the last "
        "window of "
        "an epoch"},
       {"loss_scale", &E::loss_scale, "", "the current scale", "with `fp16_mixed`"},
       {"skipped_updates", &E::skipped_updates, "updates",
        "how many were skipped so far because a gradient overflowed", "with `fp16_mixed`"},
       {"", &E::speed, "", ""},
       {"", &E::traffic, "", ""}}};
  return table;
}

const EventTable<EpochEvent>& EpochEvent::table() {
  using E = EpochEvent;
  static const EventTable<E> table{
      "epoch",
      "at the end of each epoch, about its steps",
      {{"epoch", &E::epoch, "", "counted from 1"},
       {"steps", &E::steps, "steps", ""},
       {"examples", &E::examples, "examples", ""},
       {"seconds", &E::seconds, "s", "training alone, without the evaluation"},
       {"", &E::metrics, "", "of the training examples"},
       {"learning_rate", &E::learning_rate, "", "of the last step"},
       {"", &E::speed, "", ""},
       {"phases_ms", &E::phases_ms, "ms", "where a step of rank 0 spends its time, as in `run_end`"},
       {"", &E::device, "", ""},
       {"", &E::traffic, "", ""}}};
  return table;
}

const EventTable<PhaseEvent>& PhaseEvent::table() {
  using E = PhaseEvent;
  static const char* const kKept = "when features are [kept](transfer.md#kept-features)";
  static const EventTable<E> table{
      "phase",
      "when a [phase](transfer.md#phases) begins, or goes on after a resume; only with `phases`",
      {{"phase", &E::phase, "", "its number, from 1"},
       {"phases", &E::phases, "", "how many there are"},
       {"name", &E::name, "", ""},
       {"step", &E::step, "", "complete steps of the run"},
       {"learning_rate", &E::learning_rate, "", "after scaling"},
       {"learning_rate_derivation", &E::learning_rate_derivation, "", "how it was computed, in words"},
       {"trained_parameters", &E::trained_parameters, "", "the others are frozen"},
       {"parameters", &E::parameters, "", "of the model"},
       {"gradient_bytes", &E::gradient_bytes, "bytes",
        "of the gradients that the replicas sum in a step: those of the trained parameters"},
       {"execution", &E::execution, "", "as in `run_start`"},
       {"execution_reason", &E::execution_reason, "", "why steps are eager", "when they are"},
       {"feature_bytes", &E::feature_bytes, "bytes", "of what the frozen layers make of all examples", kKept},
       {"feature_seconds", &E::feature_seconds, "s", "until it was there, computed or read", kKept}}};
  return table;
}

const EventTable<EvalEvent>& EvalEvent::table() {
  using E = EvalEvent;
  static const EventTable<E> table{"eval",
                                   "after an evaluation",
                                   {{"part", &E::part, "",
                                     "which examples were evaluated: `validation`, or at the end of the run "
                                     "`test`",
                                     kWithSplit},
                                    {"epoch", &E::epoch, "", "complete epochs"},
                                    {"step", &E::step, "", "complete steps of the run"},
                                    {"", &E::metrics, "", "of the test examples, or of those of `part`"},
                                    {"examples", &E::examples, "examples", ""},
                                    {"seconds", &E::seconds, "s", "what the evaluation took"}}};
  return table;
}

const EventTable<InspectEvent>& InspectEvent::table() {
  using E = InspectEvent;
  static const EventTable<E> table{
      "inspect",
      "for the one step that `--inspect-step N` (`metrics.inspect_step`) selects",
      {{"step", &E::step, "", "counted from 1 over the run"},
       {"replicas", &E::replicas, "", "one object for each replica, see below"},
       {"gradient_norm", &E::gradient_norm, "", "norm of the gradient that the update uses"},
       {"expected_gradient_norm", &E::expected_gradient_norm, "",
        "norm of the sum of the replicas' gradients, which are computed once more for this purpose, each on "
        "its own"},
       {"gradient_difference", &E::gradient_difference, "",
        "norm of the difference between the two gradients, divided by the expected norm"},
       {"gradient_tolerance", &E::gradient_tolerance, "", "the largest difference allowed"},
       {"weights_equal", &E::weights_equal, "", "whether all replicas have the same bits after the step"},
       {"passed", &E::passed, "",
        "whether both conditions hold: the difference is within the tolerance, and the weights are equal. If "
        "not, the job ends with exit code 1"}}};
  return table;
}

const EventTable<InspectedReplica>& InspectedReplica::table() {
  using E = InspectedReplica;
  static const EventTable<E> table{
      "",
      "Each of the `replicas` of `inspect`",
      {{"rank", &E::rank, "", ""},
       {"examples", &E::examples, "examples", "in its share"},
       {"first_indices", &E::first_indices, "",
        "where up to 8 of these are among the examples that are trained on"},
       {"loss", &E::loss, "", "before the step, mean over its examples", "when it has examples"},
       {"gradient_norm", &E::gradient_norm, "", "of what the replica adds to the shared gradient"},
       {"weight_norm", &E::weight_norm, "", "after the step"}}};
  return table;
}

const EventTable<CheckpointEvent>& CheckpointEvent::table() {
  using E = CheckpointEvent;
  static const EventTable<E> table{
      "checkpoint",
      "when a checkpoint is on the disk",
      {{"step", &E::step, "", "complete steps of the run"},
       {"epoch", &E::epoch, "", "complete epochs"},
       {"path", &E::path, "", "the folder"},
       {"suspicion", &E::suspicion, "", "why its variables may be corrupt",
        "when it is [suspect](checkpoints.md#suspect-checkpoints)"},
       {"stall_ms", &E::stall_ms, "ms", "how long training paused for it; step times leave the pause out"}}};
  return table;
}

const EventTable<WorkerLostEvent>& WorkerLostEvent::table() {
  using E = WorkerLostEvent;
  static const EventTable<E> table{
      "worker_lost",
      "with `parameter_server`, when a worker is lost and the others go on",
      {{"worker", &E::worker, "", "its number"},
       {"reason", &E::reason, "", ""},
       {"restart", &E::restart, "", "how many times it has been started again, including this one",
        "when it is started again"}}};
  return table;
}

const EventTable<RestartEvent>& RestartEvent::table() {
  using E = RestartEvent;
  static const EventTable<E> table{
      "restart",
      "when the run restarts [by itself](checkpoints.md#restarts) after losing a process",
      {{"restart", &E::restart, "", "the number of this restart, from 1"},
       {"exit_code", &E::exit_code, "", "of what failed first"},
       {"error", &E::error, "", "its message"},
       {"failed_step", &E::failed_step, "", "the step at which it failed", "when it is known"},
       {"step", &E::step, "", "that of the checkpoint from which the run resumes; 0: from the beginning"},
       {"wait_seconds", &E::wait_seconds, "s", "how long the run waits before it restarts"}}};
  return table;
}

const EventTable<MachineEvent>& MachineEvent::table() {
  using E = MachineEvent;
  static const EventTable<E> table{
      "machine",
      "every five seconds, about the machine of the first supervisor",
      {{"seconds", &E::seconds, "s", "since the job began"},
       {"processors", &E::processors, "0 to 1",
        "the part of all processors' time since the last such event in which they worked, for any program"},
       {"memory_bytes", &E::memory_bytes, "bytes", "of the machine that are in use, by any program"},
       {"memory_total_bytes", &E::memory_total_bytes, "bytes", "the machine's memory"}}};
  return table;
}

const EventTable<MessageEvent>& MessageEvent::table() {
  static const EventTable<MessageEvent> table{
      "message",
      "a line for people",
      {{"text", &MessageEvent::text, "",
        "the learning rate of an epoch (`print_learning_rate`), that training ends early and why, where a "
        "`profile` was written, or that SIGUSR1 saves a checkpoint. The terminal shows it, though not with "
        "`--quiet`"}}};
  return table;
}

const EventTable<WarningEvent>& WarningEvent::table() {
  static const EventTable<WarningEvent> table{
      "warning",
      "something that people should know",
      {{"text", &WarningEvent::text, "", "the terminal shows it in any case, also with `--quiet`"}}};
  return table;
}

const EventTable<RunEndEvent>& RunEndEvent::table() {
  using E = RunEndEvent;
  static const EventTable<E> table{
      "run_end",
      "at the end; after a failure or a stop with the first three fields and those of restarts only",
      {{"status", &E::status, "", "`completed`, `failed` or `stopped`"},
       {"exit_code", &E::exit_code, "", ""},
       {"error", &E::error, "", "the reason", "when failed or stopped"},
       {"epochs", &E::epochs, "", "how much was trained"},
       {"steps", &E::steps, "steps", "likewise"},
       {"seconds", &E::seconds, "s", "how long it took, evaluations included"},
       {"phase", &E::phase, "",
        "the number of the last phase, from 1, which `seconds_per_epoch`, `examples_per_second`, `step_ms`, "
        "`bytes_sent`, `bytes_received`, `skipped_steps` and `phases_ms` are of",
        "with several `phases`, and not with `parameter_server`, where they are of the whole run"},
       {"seconds_per_epoch", &E::seconds_per_epoch, "s", "a median", "when there was an epoch"},
       {"", &E::speed, "", ""},
       {"staleness", &E::staleness, "updates", "see below", "with `parameter_server`"},
       {"workers", &E::workers, "", "one object for each worker, in order, see below",
        "with `parameter_server`"},
       {"", &E::traffic, "", ""},
       {"", &E::device, "", ""},
       {"skipped_steps", &E::skipped_steps, "steps",
        "how many at the beginning `examples_per_second` and `step_ms` leave out in fact"},
       {"skipped_updates", &E::skipped_updates, "updates",
        "how many were skipped because a gradient overflowed", "with `fp16_mixed`"},
       {"phases_ms", &E::phases_ms, "ms",
        "where a step of rank 0 spends its time ([definitions](#formulas)): `data_wait`, `compute`, "
        "`communicate`, `update`, `wait_for_peers`",
        "when there was a step"},
       {"part", &E::part, "",
        "which examples the final evaluation was of: `test`, or `validation` if there are no test examples",
        kWithSplit},
       {"", &E::metrics, "", "of the final evaluation", "when there was one"},
       {"validation", &E::validation, "", "see below", kWithSplit},
       {"", &E::restart_cost, "", ""}}};
  return table;
}

const EventTable<ValidationSummary>& ValidationSummary::table() {
  static const EventTable<ValidationSummary> table{
      "",
      "The `validation` of `run_end` and of the runs of `comparison`",
      {{"", &ValidationSummary::metrics, "", "of the last evaluation of the validation part"}}};
  return table;
}

const EventTable<StalenessSummary>& StalenessSummary::table() {
  using E = StalenessSummary;
  static const EventTable<E> table{
      "",
      "The `staleness` of `run_end`, of the updates of all servers together",
      {{"updates", &E::updates, "",
        "a histogram: for each staleness, the number of updates that had it. For example `{\"0\": 120, "
        "\"2\": 7, \"64-127\": 1}`; values below 64 are exact"},
       {"mean", &E::mean, "updates", ""},
       {"maximum", &E::maximum, "updates", ""}}};
  return table;
}

const EventTable<WorkerSummary>& WorkerSummary::table() {
  using E = WorkerSummary;
  static const EventTable<E> table{
      "",
      "Each of the `workers` of `run_end`, since the run began or was resumed",
      {{"updates", &E::updates, "updates", ""},
       {"examples", &E::examples, "examples", ""},
       {"updates_per_second", &E::updates_per_second, "1/s",
        "between the worker's first update and its last"},
       {"straggler", &E::straggler, "",
        "whether it made less than half as many updates a second as the median worker", "when true"},
       {"lost", &E::lost, "", "whether it was lost and did not come back", "when true"},
       {"returns", &E::returns, "", "how often the worker was lost and came back", "when it did"}}};
  return table;
}

const EventTable<ComparisonEvent>& ComparisonEvent::table() {
  using E = ComparisonEvent;
  static const EventTable<E> table{
      "comparison",
      "when the spec names a baseline and both runs are over",
      {{"name", &E::name, "", "as in `run_start`"},
       {"dataset", &E::dataset, "", "likewise"},
       {"dataset_requested", &E::dataset_requested, "", "likewise", "when `dataset` is a fallback"},
       {"baseline", &E::baseline, "", "an object, see below"},
       {"distributed", &E::distributed, "", "likewise"},
       {"speedup", &E::speedup, "", "see [formulas](#formulas)", "when both runs have a speed"},
       {"scaling_efficiency", &E::scaling_efficiency, "", "likewise", "when both runs have a speed"},
       {"overhead", &E::overhead, "", "likewise", "when it was measured"},
       {"overhead_uncertainty", &E::overhead_uncertainty, "", "likewise", "when it was measured"},
       {"verdict", &E::verdict, "", "the result in a sentence"}}};
  return table;
}

const EventTable<ComparedRun>& ComparedRun::table() {
  using E = ComparedRun;
  static const EventTable<E> table{
      "",
      "The `baseline` and the `distributed` run of `comparison`, as in `run_start` and `run_end`",
      {{"strategy", &E::strategy, "", ""},
       {"replicas", &E::replicas, "", ""},
       {"global_batch", &E::global_batch, "examples", ""},
       {"seconds_per_epoch", &E::seconds_per_epoch, "s", "", "when there was an epoch"},
       {"", &E::speed, "", ""},
       {"part", &E::part, "", "", kWithSplit},
       {"", &E::metrics, "", "of the last evaluation", "when there was one"},
       {"validation", &E::validation, "", "", kWithSplit},
       {"", &E::restart_cost, "", ""}}};
  return table;
}

const EventTable<ProgressEvent>& ProgressEvent::table() {
  using E = ProgressEvent;
  static const EventTable<E> table{
      "progress",
      "several times a second, for the progress bar; not written to any file",
      {{"epoch", &E::epoch, "", "counted from 1"}, {"step", &E::step, "", "counted from 1 over the run"}}};
  return table;
}

const EventTable<OverheadEvent>& OverheadEvent::table() {
  using E = OverheadEvent;
  static const EventTable<E> table{
      "overhead",
      "while the overhead is measured, with the result in the last one; not written to any file",
      {{"step", &E::step, "", "how many of its steps are made"},
       {"steps", &E::steps, "steps", "of each of the two strategies"},
       {"overhead", &E::overhead, "", "see [formulas](#formulas)", "at the end, when steps were timed"},
       {"uncertainty", &E::uncertainty, "", "likewise", "at the end, when steps were timed"}}};
  return table;
}

}  // namespace dtrain
