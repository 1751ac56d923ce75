// The table of the fields of a job; those of `data` are in data_fields.cpp, those of `train` and the list of
// phases in train_fields.cpp. A new field is a member with its default in spec.h, and an entry here or there.
#include "spec/fields.h"

#include "core/remade_table.h"
#include "spec/added_kinds.h"
#include "spec/field_table.h"
#include "traits/models.h"
#include "traits/objectives.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

const Condition kReplicated{{"strategy.kind"}, strategies_where(&StrategyTraits::is_synchronous)};
const Condition kExchanging{{"strategy.kind"}, strategies_where([](const StrategyTraits& traits) {
                              return traits.is_synchronous && !traits.one_process;
                            })};
const Condition kMultiWorker{{"strategy.kind"}, {"multi_worker_mirrored"}};
const Condition kTpu{{"strategy.kind"}, {"tpu"}};
const Condition kPlugin{{"strategy.kind", "train.step"}, {"tpu", "xla"}};
const Condition kParameterServer{
    {"strategy.kind"}, strategies_where([](const StrategyTraits& traits) { return !traits.is_synchronous; })};
const Condition kHidden{{"model.kind"}, {"mlp", "cnn"}};
const Condition kVit{{"model.kind"}, {"vit"}};
const Condition kCnn{{"model.kind"}, {"cnn"}};
const Condition kBottlenecks{{"model.kind"}, models_where(&ModelTraits::is_bottleneck)};
const Condition kWidened{
    {"model.kind"}, models_where([](const ModelTraits& traits) { return !traits.widened_depths.empty(); })};
const Condition kDeep{{"model.kind"},
                      models_where([](const ModelTraits& traits) { return !traits.depths.empty(); })};
const Condition kPublished{{"model.kind"}, models_where(&ModelTraits::is_published)};
const Condition kNamed{{"model.kind"},
                       models_where([](const ModelTraits& traits) { return !traits.is_own; })};
const Condition kProgram{{"model.kind"}, {"torchscript"}};

const Choices kStems{"stem", {"large", "small"}};
const Choices kVitSizes{"size", {"base", "small", "tiny"}};
const Choices kBottleneckStrides{"stride", {"middle", "first"}};
const Choices kDtypes{"dtype", {"float32", "float64"}};
const Choices kModes{"mode", {"auto", "min", "max"}};
const Choices kBaselines{"baseline", {"none", "one_device"}};
const Choices kCommunications{"communication", {"auto", "shared_memory", "gloo", "nccl"}};
const Choices kCompressions{"compression", {"none", "bf16", "fp16", "int8"}};
const Choices kOuterKinds{"kind", {"nesterov", "sgd"}};
const Choices kStalenessRules{"rule", {"none", "inverse"}};
const Choices kCudaData{"place", {"auto", "resident", "uploaded"}};
const Choices kDevices{"device", {"auto", "cpu", "cuda"}};

Fields<JobSpec> first_fields() {
  // clang-format off
  return {
      JOB(name, .doc = "names the job and the folder of its runs", .pattern = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
          .made_of = "up to 100 letters, digits, '.', '_' and '-', the first a letter or a digit", .common = true),
      JOB(plugins, .doc = "libraries of [plug-ins](plugins.md), which bring kinds of models, layers, losses, "
          "optimizers and steps of their own. Each is a program: name only those that you trust; relative to the spec",
          .length = {0, 100}, .file_system = true),
      JOB(plugin_versions, .doc = "the name and version of each plug-in, which a run notes in the spec that it keeps; "
          "with others it is refused", .length = {0, 100}, .otherwise = "those of `plugins`"),
      JOB(seed, .doc = "the seed of initial weights, the order of the examples, dropout and synthetic data",
          .bounds = {.minimum = 0}),

      JOB(strategy.kind, .doc = "where the variables are stored and how the replicas' gradients become one update",
          .choices = &strategy_kinds(), .common = true),
      JOB(strategy.replicas, .doc = "the number of processes that train, each with a copy of the model, on all hosts "
          "together; with tpu and train.step xla, of devices. auto: one for each GPU, or for each core up to eight; "
          "with tpu, all devices", .bounds = between(1, 1024), .word = "auto", .when = kReplicated, .common = true),
      JOB(strategy.virtual_replicas, .doc = "cut each global batch into so many parts, of which each replica computes "
          "one or more: the weights then have the same bits with any number of replicas up to this "
          "([virtual replicas](strategies.md#virtual-replicas)). `batch.per_replica` is that of a part",
          .bounds = between(1, 1024), .word = "none", .when = kExchanging),
      JOB(strategy.devices, .doc = "where replicas run: a word for all of them (cuda: each on its own GPU; auto: GPUs "
          "if possible, else cpu), or a list with one device for each replica of a host",
          .choices = &kDevices, .length = {1, 1024}, .pattern = "cpu|cuda:[0-9]{1,2}"),
      JOB(strategy.threads_per_replica, .doc = "computing threads of each replica; auto divides the cores",
          .bounds = between(1, 1024), .word = "auto"),
      JOB(strategy.communication, .doc = "how replicas exchange tensors: auto is shared_memory on one host, and nccl "
          "between GPUs; gloo uses sockets, overlaps with the backward pass, and connects several hosts",
          .choices = &kCommunications, .when = kExchanging),
      JOB(strategy.timeout_seconds, .doc = "how long replicas wait for each other before the job ends", .unit = "s",
          .bounds = above_zero_to(86400)),
      JOB(strategy.bucket_megabytes, .doc = "the approximate size of the buckets in which replicas exchange gradients "
          "over gloo or NCCL", .unit = "MB", .bounds = above_zero_to(4096), .when = kExchanging),
      JOB(strategy.compress, .doc = "send gradients between hosts, or through gloo, in this type: half the bytes, and "
          "sums in this precision; int8 with `local_steps` only", .choices = &kCompressions, .when = kExchanging),
      JOB(strategy.local_steps.every, .doc = "each host makes so many steps of its own, and then an outer update "
          "brings the hosts together ([local steps](strategies.md#local-steps))", .unit = "steps",
          .bounds = between(1, 1e6), .word = "none", .when = kMultiWorker),
      JOB(strategy.local_steps.outer.kind, .doc = "what the outer update does with the mean of the hosts' changes",
          .choices = &kOuterKinds, .when = kMultiWorker),
      JOB(strategy.local_steps.outer.learning_rate, .doc = "of the outer update; with 1 and a momentum of 0 the hosts' "
          "weights are averaged", .bounds = above_zero_to(10), .when = kMultiWorker),
      JOB(strategy.local_steps.outer.momentum, .doc = "of the outer update", .bounds = zero_to_below_one(),
          .when = kMultiWorker),
      JOB(strategy.shard_optimizer, .doc = "hosts divide what the optimizer remembers, and its work, among themselves "
          "([sharded optimizer](strategies.md#sharded-optimizer))", .when = kMultiWorker),
      JOB(strategy.workers, .doc = "the number of processes that train, each at its own pace",
          .bounds = between(1, 1024), .when = kParameterServer, .required = true),
      JOB(strategy.servers, .doc = "the number of processes that hold the variables and update them",
          .bounds = between(1, 1024), .when = kParameterServer),
      JOB(strategy.max_staleness, .doc = "the most updates by other workers between a worker's reading of the "
          "variables and its own update; faster workers wait. At least `workers` - 1", .unit = "updates",
          .bounds = between(0, 1e6), .word = "none", .when = kParameterServer),
      JOB(strategy.staleness_learning_rate, .doc = "inverse: apply an update with a staleness of s with the learning "
          "rate / (1 + s)", .choices = &kStalenessRules, .when = kParameterServer),
      JOB(strategy.min_shard_kib, .doc = "the least size of the shards into which a variable is divided among servers",
          .unit = "KiB", .bounds = between(1, 1 << 30), .when = kParameterServer),
      JOB(strategy.restart_workers, .doc = "how many times to start each worker again when it dies; without worker 0 "
          "the job ends", .unit = "times", .bounds = between(0, 1000), .when = kParameterServer),
      JOB(strategy.plugin, .doc = "the library that drives the TPUs, or other devices of [PJRT](tpu.md#plugins); "
          "auto: for TPUs $TPU_LIBRARY_PATH, else libtpu in its usual places; for GPUs JAX's plugin in its usual "
          "places", .word = "auto", .when = kPlugin),
      JOB(strategy.fallback, .doc = "without a usable TPU, train with mirrored instead, and print a note",
          .when = kTpu),
      JOB(strategy.quick_compile, .doc = "compile with less effort: programs are ready sooner and may run slower",
          .when = kPlugin),
      JOB(strategy.steps_per_execution, .doc = "the most steps in one call of the devices' program; auto: up to 32, "
          "or 1 if dtrain sends each step its examples (`cuda.data`) and for convolutions on CPUs. A call has fewer "
          "steps if a window ends (`metrics.every_steps`), or if they would take longer than a quarter of a second",
          .unit = "steps", .bounds = between(1, 1000), .word = "auto", .when = kPlugin),
  };
  // clang-format on
}

Fields<JobSpec> batch_and_model_fields() {
  // clang-format off
  return joined<JobSpec>({{
      JOB(batch.per_replica, .doc = "the examples in one forward and backward pass of a replica (with `global`, the "
          "most); set this or `global` or both; auto, with `global`: as many as fit into memory, "
          "[measured](training.md#batches) when a run begins", .unit = "examples", .bounds = between(1, 1e6),
          .word = "auto", .word_number = kLargestThatFits, .otherwise = "from `global`", .common = true),
      JOB(batch.global, .doc = "the examples of one update over all replicas and accumulated passes; set this or "
          "`per_replica` or both", .unit = "examples", .bounds = between(1, 1e9), .otherwise = "from `per_replica`"),
      JOB(batch.accumulate_steps, .doc = "passes whose gradients are summed before one update", .unit = "passes",
          .bounds = between(1, 10000), .otherwise = "1; with `per_replica` and `global`, as many as needed"),

      JOB(model.kind, .doc = "mlp: dense layers; cnn: convolutions, then dense layers; layers: your own list; "
          "torchscript: [your own network](own_models.md) in a file; the others: [published networks](models.md)",
          .choices = &model_kinds(), .common = true),
      JOB(model.hidden, .doc = "units of each hidden dense layer", .unit = "units", .bounds = between(1, 1e6),
          .length = {0, 100}, .when = kHidden),
      JOB(model.filters, .doc = "filters of each convolution; a 2x2 max pooling follows each", .unit = "filters",
          .bounds = between(1, 1e6), .length = {1, 100}, .when = kCnn),
      JOB(model.kernel_size, .doc = "height and width of the convolutions' kernels", .unit = "pixels",
          .bounds = between(1, 1024), .when = kCnn),
      JOB(model.depth, .doc = "layers with weights: resnet 18, 34, 50 or 101; cifar_resnet 20, 32, 44, 56 or 110; "
          "wide_resnet 16, 22, 28 or 40 for small images, 50 or 101; vgg 11, 13, 16 or 19", .unit = "layers",
          .bounds = between(11, 110), .otherwise = "resnet: 18; cifar_resnet: 20; wide_resnet: 50; vgg: 16",
          .when = kDeep),
      JOB(model.widen_factor, .doc = "for a wide_resnet of 16, 22, 28 or 40 layers: multiplies the 16, 32 and 64 "
          "filters of its three groups", .bounds = between(1, 64),
          .otherwise = "10, as in WRN-28-10", .when = kWidened),
      JOB(model.stem, .doc = "large: a convolution of 7x7 and a pooling, each with a stride of 2, for images of 100 "
          "pixels and more; small: a convolution of 3x3", .choices = &kStems, .when = kBottlenecks),
      JOB(model.bottleneck_stride, .doc = "the convolution of a block of three that has the stride; middle: the 3x3 "
          "one, as in torchvision (v1.5); first: the 1x1 one, as in the paper and in Keras (v1)",
          .choices = &kBottleneckStrides, .when = kBottlenecks),
      JOB(model.size, .doc = "12, 6 or 3 heads of 64 features each", .choices = &kVitSizes, .when = kVit),
      JOB(model.patch, .doc = "height and width of the patches that become tokens; they must fill the images",
          .unit = "pixels", .bounds = between(1, 1024), .when = kVit),
      JOB(model.batch_norm, .doc = "normalise after each convolution", .when = {{"model.kind"}, {"vgg"}}),
      JOB(model.include_top, .doc = "false: replace the network's own last layers by `head`", .when = kPublished),
      JOB(model.head, .doc = "with `include_top: false`: the [layers](#modellayers) after the network's last feature "
          "maps, or the features of a vit's class token; the last layer gives the outputs; `[]`: global_avg_pool2d "
          "(not of a vit), dropout (`model.dropout`), dense",
          .length = {0, 100}, .when = kPublished),
      JOB(model.activation, .doc = "after every hidden layer", .choices = &activation_kinds(), .when = kHidden),
      JOB(model.dropout, .doc = "the share of hidden units set to zero while training; in a published network, of the "
          "units before its dense layers; in a wide_resnet of 16 to 40 layers, of those within its blocks; in a vit, "
          "after the embedded patches and after each attention and dense layer",
          .bounds = zero_to_below_one(), .when = kNamed),
      JOB(model.initializer, .doc = "the distribution of the initial weights; biases start at zero",
          .choices = &initializer_kinds(), .when = kNamed),
      JOB(model.layers, .doc = "the layers from input to output ([layers](#modellayers))", .length = {1, 1000},
          .when = {{"model.kind"}, {"layers"}}, .required = true),
      JOB(model.file, .doc = "the network, as `torch.jit.save` wrote it ([own networks](own_models.md)); relative to "
          "the spec", .when = kProgram, .required = true, .file_system = true),
      JOB(model.sha256, .doc = "the SHA-256 of `file`: one with another is refused. A run notes it in the spec that it "
          "keeps", .pattern = "[0-9a-f]{64}", .made_of = "64 digits of 0 to 9 and a to f",
          .otherwise = "that of the file when a run begins", .when = kProgram),
      JOB(model.output, .doc = "the entry with the outputs, where the network returns a dict",
          .otherwise = "of several outputs the first; a dict needs it", .when = kProgram),
  }, fields_of_kinds<JobSpec>(added_kinds(AddedKind::kModel), "model", [](auto& spec) -> auto& {
       return spec.model;
     }), {
      JOB(model.dtype, .doc = "the type of weights and activations", .choices = &kDtypes),
      JOB(model.weights, .doc = "start from the weights of this run, checkpoint or .safetensors file of `dtrain "
          "export` or [scripts/convert_weights](models.md#pretrained-weights) instead of initial ones; relative to the "
          "spec, or an [address](data.md#addresses)", .word = "none", .file_system = true, .may_be_address = true),
      JOB(model.weights_prefix, .doc = "take only variables whose names begin with this, such as `conv2d`; the others "
          "keep their initial values. none: take all; they must be exactly those of the model", .word = "none"),
  }});
  // clang-format on
}

Fields<JobSpec> running_fields() {
  const Condition best{{"checkpoint.best.metric"}, metric_names()};
  const Condition stopping{{"callbacks.early_stopping.metric"}, metric_names()};
  // clang-format off
  return {
      JOB(evaluate.every_epochs, .doc = "epochs between evaluations; the last epoch is always evaluated",
          .unit = "epochs", .bounds = between(1, 1e6)),
      JOB(evaluate.batch_per_replica, .doc = "examples in one forward pass of an evaluation", .unit = "examples",
          .bounds = between(1, 1e6)),
      JOB(evaluate.flip,
          .doc = "average the model's outputs for a picture and its mirror image in evaluations and predictions "
          "([views](evaluation.md#views-of-a-picture)); takes twice the time"),
      JOB(evaluate.zoom,
          .doc = "average the model's outputs for a picture and its middle, this part of its width and height, scaled "
          "up ([views](evaluation.md#views-of-a-picture)); takes twice the time; 1: off", .bounds = between(0.1, 1)),

      JOB(checkpoint.every_epochs, .doc = "epochs between checkpoints; set at most one of this, every_steps and "
          "every_minutes", .unit = "epochs", .bounds = between(1, 1e6), .word = "none", .common = true),
      JOB(checkpoint.every_steps, .doc = "updates between checkpoints", .unit = "steps",
          .bounds = between(1, 1e12), .word = "none"),
      JOB(checkpoint.every_minutes, .doc = "minutes between checkpoints", .unit = "min",
          .bounds = between(1, 1e6), .word = "none"),
      JOB(checkpoint.final, .doc = "save the final model, and a checkpoint when a stop signal interrupts the run"),
      JOB(checkpoint.keep, .doc = "the number of newest checkpoints to keep, besides the best", .unit = "checkpoints",
          .bounds = between(1, 1e6)),
      JOB(checkpoint.best.metric, .doc = "save a checkpoint whenever an evaluation has a better value of this metric, "
          "and keep the best", .choices = &evaluated_metrics(), .word = "none"),
      JOB(checkpoint.best.mode, .doc = "the value that is the best; auto: the lowest of a loss or error, the highest "
          "of other metrics", .choices = &kModes, .when = best),

      JOB(checks.every_steps, .doc = "updates between checks for corrupt variables; dtrain also checks before every "
          "checkpoint ([corrupt variables](strategies.md#corrupt-variables))", .unit = "steps",
          .bounds = between(1, 1e12), .word = "none"),
      JOB(receipts.every_steps, .doc = "updates between [receipts](receipts.md), which are hashes of what a step "
          "computed, for `dtrain verify`", .unit = "steps", .bounds = between(1, 1e12), .word = "none",
          .when = kExchanging),

      JOB(restarts.max, .doc = "when a process dies, restart the run from its newest good checkpoint; at most this "
          "many times in a row without a new checkpoint; auto: 3 if checkpoints are saved during the run, else 0",
          .bounds = between(0, 1e6), .word = "auto"),
      JOB(restarts.backoff_seconds, .doc = "the wait before a restart that follows another without progress; it "
          "doubles for each further one", .unit = "s", .bounds = between(0, 3600)),
      JOB(restarts.min_replicas, .doc = "continue without lost hosts if at least this many replicas are left: with "
          "`strategy.virtual_replicas` at once, else when the hosts do not come back; all: wait for them, then end",
          .bounds = between(1, 65536), .word = "all"),

      JOB(callbacks.csv, .doc = "write the numbers of every epoch and evaluation to history.csv in the run's folder"),
      JOB(callbacks.tensorboard, .doc = "write TensorBoard's event files to tensorboard/ in the run's folder"),
      JOB(callbacks.tensorboard_histograms, .doc = "with `tensorboard`: also histograms of weights and gradients at "
          "the last update of every epoch"),
      JOB(callbacks.print_learning_rate, .doc = "print the learning rate after every epoch"),
      JOB(callbacks.terminate_on_nan, .doc = "check the loss after every update, not only every "
          "`metrics.every_steps`; a loss that is not a finite number always ends the job"),
      JOB(callbacks.early_stopping.metric, .doc = "the metric of the evaluations; training ends when it no longer "
          "improves", .choices = &evaluated_metrics(), .word = "none"),
      JOB(callbacks.early_stopping.patience, .doc = "end the training after this many evaluations in a row without "
          "improvement", .unit = "evaluations", .bounds = between(1, 1e6), .when = stopping),
      JOB(callbacks.early_stopping.min_delta, .doc = "the smallest change of the metric that is an improvement",
          .bounds = between(0, 1e6), .when = stopping),
      JOB(callbacks.early_stopping.restore_best, .doc = "end the run with the weights of its best evaluation, by "
          "`checkpoint.best.metric`, whose default is then this `metric`; false: with its last weights",
          .when = stopping),
      JOB(callbacks.profile.start_step, .doc = "write a trace of this update (from 1) and the following ones to "
          "profile.json in the run's folder, for chrome://tracing or ui.perfetto.dev", .bounds = between(1, 1e12),
          .word = "none"),
      JOB(callbacks.profile.steps, .doc = "how many updates to trace", .unit = "steps", .bounds = between(1, 100)),

      JOB(metrics.every_steps, .doc = "updates between reports of the training metrics", .unit = "steps",
          .bounds = between(1, 1e9)),
      JOB(metrics.skip_steps, .doc = "the number of first updates that step times do not count", .unit = "steps",
          .bounds = between(0, 1e9)),
      JOB(metrics.inspect_step, .doc = "show this update (from 1) replica by replica and check it; the same as "
          "`dtrain run --inspect-step`", .bounds = between(1, 1e12), .word = "none"),
      JOB(metrics.noise_scale, .doc = "measure the gradient noise scale of each epoch, the batch beyond which more "
          "replicas bring little, on processors ([noise scale](large-batch.md#gradient-noise-scale))"),

      JOB(compare.baseline, .doc = "a run to compare with, trained first, with the same seed", .choices = &kBaselines),

      JOB(hosts, .doc = "the hosts of the job; the first leads. Each runs `dtrain run` with its share of the replicas "
          "(docs/launching.md)", .length = {0, 1024}, .pattern = "[A-Za-z0-9][A-Za-z0-9._:-]{0,252}",
          .made_of = "letters, digits, '.', '_', ':' and '-', the first a letter or a digit"),
      JOB(network.interface, .doc = "the interface (or its address) that the job listens on; auto: loopback on one "
          "host; with several hosts, the one through which they reach the first",
          .pattern = "[A-Za-z0-9][A-Za-z0-9._:@-]{0,252}",
          .made_of = "letters, digits, '.', '_', ':', '@' and '-', the first a letter or a digit", .word = "auto"),
      JOB(network.port, .doc = "the port on which the first host waits for the others; auto: the launcher's, else one "
          "computed from the launcher's job number, else 29400", .bounds = between(1, 65535), .word = "auto"),
      JOB(network.rendezvous_timeout_seconds, .doc = "how long to wait until every replica has started and loaded its "
          "data", .unit = "s", .bounds = above_zero_to(86400)),

      JOB(cuda.graphs, .doc = "record the training step of a GPU once and replay it, which saves CPU time; steps of "
          "another size are not recorded"),
      JOB(cuda.data, .doc = "where examples are stored: resident keeps all of them in the memory of the GPU or TPU, "
          "uploaded sends each batch; auto is resident if they take at most a quarter of the free memory and are not "
          "augmented", .choices = &kCudaData),
      JOB(cuda.tf32, .doc = "float32 matrix products and convolutions with TensorFloat-32: faster, 10 bits of "
          "mantissa"),
      JOB(cuda.cudnn_benchmark, .doc = "measure cuDNN's algorithms for each convolution and use the fastest; the bits "
          "then differ from run to run"),
  };
  // clang-format on
}

}  // namespace

const Choices& strategy_kinds() {
  static const Choices choices{"strategy", strategies_where([](const StrategyTraits&) { return true; })};
  return choices;
}

const Choices& dataset_kinds() {
  static const Choices choices{"dataset",
                               {"mnist", "fashion_mnist", "cifar10", "cifar100", "idx", "image_folder", "tar",
                                "image_parquet", "arrays", "csv", "parquet", "synthetic"}};
  return choices;
}

const Choices& model_kinds() {
  return remade([] { return Choices{"model", models_where([](const ModelTraits&) { return true; })}; });
}

const Choices& initializer_kinds() {
  static const Choices choices{
      "initializer",
      {"glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "zeros"}};
  return choices;
}

const Choices& evaluated_metrics() {
  return remade([] { return Choices{"metric", metric_names()}; });
}

const Fields<JobSpec>& job_fields() {
  return remade([] {
    return joined<JobSpec>(
        {first_fields(), data_fields(), batch_and_model_fields(), train_fields(), running_fields()});
  });
}

}  // namespace dtrain
