#include "metrics/event_tables.h"

namespace dtrain {
namespace {

const char* const kWithSplit = "with `data.split`";
const char* const kKept = "when features are [kept](transfer.md#kept-features)";

}  // namespace

// A field's name in JSON is that of its member; the fields of a part have names of their own.
#define FIELD(name) #name, &decltype(table)::Owner::name
#define PART(name) "", &decltype(table)::Owner::name

const EventTable<StepSpeed> StepSpeed::table = {
    .fields = {{FIELD(examples_per_second), "examples/s",
                "of all replicas together ([how it is computed](#formulas))", "when steps were timed"},
               {FIELD(step_ms), "ms", "the time of a step, a [median](#formulas)", "when steps were timed"}}};

const EventTable<StepTraffic> StepTraffic::table = {
    .fields = {{FIELD(bytes_sent), "bytes",
                "sent through sockets per step, on average ([how they are counted](#formulas))",
                "where sockets are used"},
               {FIELD(bytes_received), "bytes", "received likewise", "where sockets are used"}}};

const EventTable<DeviceUse> DeviceUse::table = {
    .fields = {
        {FIELD(device_memory_bytes), "bytes",
         "the largest amount of the GPU's memory that the tensors of replica 0 have taken", "on a GPU"},
        {FIELD(device_memory_total_bytes), "bytes", "the GPU's memory", "on a GPU"},
        {FIELD(device_utilisation), "0 to 1",
         "the fraction of the last moments in which the GPU of replica 0 was computing, as reported by "
         "NVIDIA's driver",
         "on a GPU"}}};

const EventTable<RestartCost> RestartCost::table = {
    .fields = {
        {FIELD(restarts), "", "the number of restarts since its start or last resume",
         "when it was restarted"},
        {FIELD(lost_seconds), "s", "the time that these cost: repeated training, and waiting to continue",
         "when it was restarted"}}};

const EventTable<RunStartEvent> RunStartEvent::table = {
    "run_start",
    "before the first step",
    {{FIELD(name), "", "the job's name"},
     {FIELD(folder), "", "the run's folder, an absolute path", "when the run has one"},
     {FIELD(strategy), "", "[how it is distributed](strategies.md)"},
     {FIELD(strategy_fallback), "", "the reason why `strategy` replaces `tpu`", "when it does"},
     {FIELD(replicas), "", "with `parameter_server`: workers"},
     {FIELD(virtual_replicas), "", "`strategy.virtual_replicas`", "when it is set"},
     {FIELD(devices), "", "one entry for each replica"},
     {FIELD(spans_hosts), "", "true: the replicas are on several hosts", "when they are"},
     {FIELD(servers), "processes", "that hold the variables", "with `parameter_server`"},
     {FIELD(max_staleness), "updates", "the bound of the staleness",
      "with `parameter_server` and if there is a bound"},
     {FIELD(threads_per_replica), "threads", ""},
     {FIELD(global_batch), "examples",
      "of one optimizer step: `per_replica_batch` x `replicas` (or `virtual_replicas`) x `accumulate_steps`; "
      "with `parameter_server`, of one step of every worker"},
     {FIELD(per_replica_batch), "examples", ""},
     {FIELD(accumulate_steps), "micro-batches", ""},
     {FIELD(learning_rate), "", "after scaling"},
     {FIELD(learning_rate_derivation), "", "a description of its computation"},
     {FIELD(warmup_steps), "steps", "the number of first steps over which the learning rate rises"},
     {FIELD(phases), "",
      "how many [phases](transfer.md#phases) the training has; the learning rate is that "
      "of the first",
      "with `phases`"},
     {FIELD(steps_per_epoch), "steps", ""},
     {FIELD(epochs), "", ""},
     {FIELD(total_steps), "steps", ""},
     {FIELD(resumed_step), "steps", "the checkpoint's step", "when the run resumes from a checkpoint"},
     {FIELD(train_examples), "examples", "without the validation part"},
     {FIELD(validation_examples), "examples", "in the validation part", kWithSplit},
     {FIELD(test_examples), "examples", ""},
     {FIELD(bad_examples), "examples",
      "pictures that cannot be read and are [left out](data.md#bad-pictures)",
      "with `data.on_bad_example: skip`"},
     {FIELD(dataset), "", "the dataset that is used"},
     {FIELD(dataset_source), "", "where it was found"},
     {FIELD(dataset_requested), "", "the dataset that the spec asks for and that was not found",
      "when `dataset` is a fallback"},
     {FIELD(parameters), "", "the number of trainable numbers in the model"},
     {FIELD(weights), "", "the file with the weights that it starts from", "with `model.weights`"},
     {FIELD(weights_sha256), "", "that file's SHA-256", "with `model.weights`"},
     {FIELD(dtype), "", "type of the model's numbers"},
     {FIELD(precision), "", "of forward and backward pass"},
     {FIELD(execution), "",
      "[how a step is computed](training.md#steps): `compiled`, `eager`, `recorded` or, by a "
      "[plugin](tpu.md), `stablehlo`"},
     {FIELD(execution_reason), "",
      "why it is `eager`, or which plugin compiles the `stablehlo` and how many steps a call makes",
      "when it is"},
     {FIELD(products), "",
      "how matrices are multiplied on a processor: `brgemm` (oneDNN's kernels) or `panels` (dtrain's own)",
      "when the devices are processors"},
     {FIELD(seed), "", ""},
     {FIELD(host), "", "the host of rank 0"},
     {FIELD(processor), "", "its processor's name as the kernel reports it"},
     {FIELD(skipped_steps), "steps", "the number of first steps that the timing does not count"},
     {FIELD(dtrain), "", "its version"},
     {FIELD(libtorch), "", "its version"}}};

const EventTable<StepEvent> StepEvent::table = {
    "step",
    "every `metrics.every_steps` steps, about the steps since the last one",
    {{FIELD(epoch), "", "counted from 1"},
     {FIELD(step), "", "counted from 1 over the whole run"},
     {PART(metrics), "", "of the training examples"},
     {FIELD(learning_rate), "", ""},
     {FIELD(gradient_norm), "",
      "the L2 norm of the last step's gradient, summed over the replicas, before `train.clip_norm`",
      "with a strategy other than `parameter_server`; where a GPU replays recorded steps, in the last "
      "window of an epoch"},
     {FIELD(loss_scale), "", "the current scale", "with `fp16_mixed`"},
     {FIELD(skipped_updates), "updates", "the number of updates skipped so far because a gradient overflowed",
      "with `fp16_mixed`"},
     {PART(speed), "", ""},
     {PART(traffic), "", ""}}};

const EventTable<EpochEvent> EpochEvent::table = {
    "epoch",
    "at the end of each epoch, about its steps",
    {{FIELD(epoch), "", "counted from 1"},
     {FIELD(steps), "steps", ""},
     {FIELD(examples), "examples", ""},
     {FIELD(seconds), "s", "training alone, without the evaluation"},
     {PART(metrics), "", "of the training examples"},
     {FIELD(learning_rate), "", "of the last step"},
     {FIELD(noise_scale), "examples", "the [gradient noise scale](large-batch.md#gradient-noise-scale)",
      "with `metrics.noise_scale`, unless the epoch has too few steps for so much noise"},
     {PART(speed), "", ""},
     {FIELD(phases_ms), "ms", "the time that a step of rank 0 spends in each phase, as in `run_end`"},
     {PART(device), "", ""},
     {PART(traffic), "", ""}}};

const EventTable<PhaseEvent> PhaseEvent::table = {
    "phase",
    "when a [phase](transfer.md#phases) begins, or goes on after a resume; only with `phases`",
    {{FIELD(phase), "", "its number, from 1"},
     {FIELD(phases), "", "the number of them"},
     {FIELD(name), "", ""},
     {FIELD(step), "", "complete steps of the run"},
     {FIELD(learning_rate), "", "after scaling"},
     {FIELD(learning_rate_derivation), "", "a description of its computation"},
     {FIELD(trained_parameters), "", "the others are frozen"},
     {FIELD(parameters), "", "of the model"},
     {FIELD(gradient_bytes), "bytes",
      "of the gradients that the replicas sum in a step: those of the trained parameters"},
     {FIELD(execution), "", "as in `run_start`"},
     {FIELD(execution_reason), "", "why steps are eager", "when they are"},
     {FIELD(feature_bytes), "bytes", "of the features of all examples", kKept},
     {FIELD(feature_seconds), "s", "the time to compute or read them", kKept}}};

const EventTable<EvalEvent> EvalEvent::table = {
    "eval",
    "after an evaluation",
    {{FIELD(part), "", "the examples that were evaluated: `validation`, or at the end of the run `test`",
      kWithSplit},
     {FIELD(epoch), "", "complete epochs"},
     {FIELD(step), "", "complete steps of the run"},
     {PART(metrics), "", "of the test examples, or of those of `part`"},
     {FIELD(examples), "examples", ""},
     {FIELD(seconds), "s", "the duration of the evaluation"}}};

const EventTable<InspectEvent> InspectEvent::table = {
    "inspect",
    "for the one step that `--inspect-step N` (`metrics.inspect_step`) selects",
    {{FIELD(step), "", "counted from 1 over the run"},
     {FIELD(replicas), "", "one object for each replica, see below"},
     {FIELD(gradient_norm), "", "norm of the gradient that the update uses"},
     {FIELD(expected_gradient_norm), "",
      "norm of the sum of the replicas' gradients, each computed once more for this purpose"},
     {FIELD(gradient_difference), "",
      "norm of the difference between the two gradients, divided by the expected norm"},
     {FIELD(gradient_tolerance), "", "the largest difference allowed"},
     {FIELD(weights_equal), "", "whether all replicas have the same bits after the step"},
     {FIELD(passed), "",
      "whether both conditions hold: the difference is within the tolerance, and the weights are equal. If "
      "not, the job ends with exit code 1"}}};

const EventTable<InspectedReplica> InspectedReplica::table = {
    .doc = "Each of the `replicas` of `inspect`",
    .fields = {{FIELD(rank), "", ""},
               {FIELD(examples), "examples", "in its share"},
               {FIELD(first_indices), "", "the positions of up to 8 of these among the training examples"},
               {FIELD(loss), "", "before the step, mean over its examples", "when it has examples"},
               {FIELD(gradient_norm), "", "of what the replica adds to the shared gradient"},
               {FIELD(weight_norm), "", "after the step"}}};

const EventTable<CheckpointEvent> CheckpointEvent::table = {
    "checkpoint",
    "when a checkpoint is on the disk",
    {{FIELD(step), "", "complete steps of the run"},
     {FIELD(epoch), "", "complete epochs"},
     {FIELD(path), "", "the folder"},
     {FIELD(suspicion), "", "why its variables may be corrupt",
      "when it is [suspect](checkpoints.md#suspect-checkpoints)"},
     {FIELD(stall_ms), "ms", "the pause of the training for it; step times do not include it"}}};

const EventTable<WorkerLostEvent> WorkerLostEvent::table = {
    "worker_lost",
    "with `parameter_server`, when a worker is lost and the others go on",
    {{FIELD(worker), "", "its number"},
     {FIELD(reason), "", ""},
     {FIELD(restart), "", "the number of times that it was started again, including this one",
      "when it is started again"}}};

const EventTable<RestartEvent> RestartEvent::table = {
    "restart",
    "when the run restarts [by itself](checkpoints.md#restarts) after losing a process",
    {{FIELD(restart), "", "the number of this restart, from 1"},
     {FIELD(exit_code), "", "of the first failure"},
     {FIELD(error), "", "its message"},
     {FIELD(failed_step), "", "the step at which it failed", "when it is known"},
     {FIELD(step), "", "that of the checkpoint from which the run resumes; 0: from the beginning"},
     {FIELD(wait_seconds), "s", "the wait before the run restarts"}}};

const EventTable<MachineEvent> MachineEvent::table = {
    "machine",
    "every five seconds, about the machine of the first supervisor",
    {{FIELD(seconds), "s", "since the job began"},
     {FIELD(processors), "0 to 1",
      "the share of time since the last such event in which the processors worked, for any program"},
     {FIELD(memory_bytes), "bytes", "of the machine that are in use, by any program"},
     {FIELD(memory_total_bytes), "bytes", "the machine's memory"}}};

const EventTable<MessageEvent> MessageEvent::table = {
    "message",
    "a line for people",
    {{FIELD(text), "",
      "the learning rate of an epoch (`print_learning_rate`), from where a run resumes, that training ends "
      "early and why, where a `profile` was written, that SIGUSR1 saves a checkpoint, or, only in the "
      "output, that the run is complete. The terminal shows it, with `--quiet` only the last"}}};

const EventTable<WarningEvent> WarningEvent::table = {
    "warning",
    "something that people should know",
    {{FIELD(text), "", "the terminal shows it in any case, also with `--quiet`"}}};

const EventTable<RunEndEvent> RunEndEvent::table = {
    "run_end",
    "at the end; after a failure or a stop with the first three fields and those of restarts only",
    {{FIELD(status), "", "`completed`, `failed` or `stopped`"},
     {FIELD(exit_code), "", ""},
     {FIELD(error), "", "the reason", "when failed or stopped"},
     {FIELD(epochs), "", "the amount trained"},
     {FIELD(steps), "steps", "likewise"},
     {FIELD(seconds), "s", "the duration since its start or last resume, with evaluations"},
     {FIELD(phase), "",
      "the number of the last phase, from 1, which `seconds_per_epoch`, `examples_per_second`, `step_ms`, "
      "`bytes_sent`, `bytes_received`, `skipped_steps` and `phases_ms` describe",
      "with several `phases`, and not with `parameter_server`, where they describe the whole run"},
     {FIELD(seconds_per_epoch), "s", "a median", "when there was a whole epoch"},
     {PART(speed), "", ""},
     {FIELD(staleness), "updates", "see below", "with `parameter_server`"},
     {FIELD(workers), "", "one object for each worker, in order, see below", "with `parameter_server`"},
     {PART(traffic), "", ""},
     {FIELD(links), "", "one object for each two hosts, see below", "on several hosts"},
     {PART(device), "", ""},
     {FIELD(skipped_steps), "steps",
      "the number of first steps that `examples_per_second` and `step_ms` do not count"},
     {FIELD(skipped_updates), "updates", "the number of updates skipped because a gradient overflowed",
      "with `fp16_mixed`"},
     {FIELD(phases_ms), "ms",
      "the time that a step of rank 0 spends in each phase ([definitions](#formulas)): `data_wait`, "
      "`compute`, `communicate`, `update`, `wait_for_peers`",
      "when there was a step"},
     {FIELD(noise_scale), "examples", "of the last epoch", "when it has one"},
     {FIELD(part), "",
      "the examples of the final evaluation: `test`, or `validation` if there are no test examples",
      kWithSplit},
     {PART(metrics), "", "of the final evaluation", "when there was one"},
     {FIELD(intervals), "",
      "for each metric of the final evaluation that has one, the lowest and the highest value of its 95 % "
      "[interval](evaluation.md#intervals): `{\"accuracy\": [0.9794, 0.9849]}`",
      "when the results of single examples were kept"},
     {FIELD(validation), "", "see below", kWithSplit},
     {PART(restart_cost), "", ""}}};

const EventTable<ValidationSummary> ValidationSummary::table = {
    .doc = "The `validation` of `run_end` and of the runs of `comparison`",
    .fields = {{PART(metrics), "", "of the last evaluation of the validation part"}}};

const EventTable<StalenessSummary> StalenessSummary::table = {
    .doc = "The `staleness` of `run_end`, of the updates of all servers together",
    .fields = {
        {FIELD(updates), "",
         "a histogram: for each staleness, the number of updates that had it. For example `{\"0\": 120, "
         "\"2\": 7, \"64-127\": 1}`; values below 64 are exact"},
        {FIELD(mean), "updates", ""},
        {FIELD(maximum), "updates", ""}}};

const EventTable<WorkerSummary> WorkerSummary::table = {
    .doc = "Each of the `workers` of `run_end`, since the run began or was resumed",
    .fields = {
        {FIELD(updates), "updates", ""},
        {FIELD(examples), "examples", ""},
        {FIELD(updates_per_second), "1/s", "between the worker's first update and its last"},
        {FIELD(straggler), "", "whether it made less than half as many updates a second as the median worker",
         "when true"},
        {FIELD(lost), "", "whether it was lost and did not come back", "when true"},
        {FIELD(returns), "", "the number of times that the worker was lost and came back", "when it did"}}};

const EventTable<LinkSummary> LinkSummary::table = {
    .doc =
        "Each of the `links` of `run_end`, the connections of two hosts since they last met "
        "([how they are counted](#formulas))",
    .fields = {
        {FIELD(hosts), "", "their names, or their addresses if names are missing or the same"},
        {FIELD(bytes_sent), "bytes", "by the first host to the second"},
        {FIELD(bytes_received), "bytes", "likewise in the other direction"},
        {FIELD(retransmitted_bytes), "bytes", "sent again, by both"},
        {FIELD(round_trip_ms), "ms", "lately, including waiting in queues"},
        {FIELD(least_round_trip_ms), "ms", "the least of the last minutes"},
        {FIELD(bytes_per_second), "bytes/s", "at which data arrived lately, in the faster direction"}}};

const EventTable<ComparisonEvent> ComparisonEvent::table = {
    "comparison",
    "when the spec names a baseline and both runs are over",
    {{FIELD(name), "", "as in `run_start`"},
     {FIELD(dataset), "", "likewise"},
     {FIELD(dataset_requested), "", "likewise", "when `dataset` is a fallback"},
     {FIELD(baseline), "", "an object, see below"},
     {FIELD(distributed), "", "likewise"},
     {FIELD(speedup), "", "see [formulas](#formulas)", "when both runs have a speed"},
     {FIELD(scaling_efficiency), "", "likewise", "when both runs have a speed"},
     {FIELD(overhead), "", "likewise", "when it was measured"},
     {FIELD(overhead_uncertainty), "", "likewise", "when it was measured"},
     {FIELD(verdict), "", "the result in a sentence"}}};

const EventTable<ComparedRun> ComparedRun::table = {
    .doc = "The `baseline` and the `distributed` run of `comparison`, as in `run_start` and `run_end`",
    .fields = {{FIELD(strategy), "", ""},
               {FIELD(replicas), "", ""},
               {FIELD(global_batch), "examples", ""},
               {FIELD(seconds_per_epoch), "s", "", "when there was a whole epoch"},
               {PART(speed), "", ""},
               {FIELD(part), "", "", kWithSplit},
               {PART(metrics), "", "of the last evaluation", "when there was one"},
               {FIELD(validation), "", "", kWithSplit},
               {PART(restart_cost), "", ""}}};

const EventTable<ProgressEvent> ProgressEvent::table = {
    "progress",
    "several times a second, for the progress bar; not written to any file",
    {{FIELD(epoch), "", "counted from 1"}, {FIELD(step), "", "counted from 1 over the run"}}};

const EventTable<OverheadEvent> OverheadEvent::table = {
    "overhead",
    "while the overhead is measured, with the result in the last one; not written to any file",
    {{FIELD(step), "", "the number of its steps done so far"},
     {FIELD(steps), "steps", "of each of the two strategies"},
     {FIELD(overhead), "", "see [formulas](#formulas)", "at the end, when steps were timed"},
     {FIELD(uncertainty), "", "likewise", "at the end, when steps were timed"}}};

#undef FIELD
#undef PART

}  // namespace dtrain
