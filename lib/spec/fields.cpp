// The table of the fields of a job. To add a field, add a member with its default to spec.h, and one entry
// here.
#include "spec/fields.h"

#include "kinds/models.h"
#include "kinds/objectives.h"
#include "kinds/strategies.h"
#include "spec/field_table.h"

namespace dtrain {
namespace {

const Condition kReplicated{
    {"strategy.kind"}, strategies_where([](const StrategyTraits& traits) { return traits.is_synchronous; })};
const Condition kExchanging{{"strategy.kind"}, strategies_where([](const StrategyTraits& traits) {
                              return traits.is_synchronous && !traits.one_process;
                            })};
const Condition kTpu{{"strategy.kind"},
                     strategies_where([](const StrategyTraits& traits) { return traits.one_process; })};
const Condition kParameterServer{
    {"strategy.kind"}, strategies_where([](const StrategyTraits& traits) { return !traits.is_synchronous; })};
const Condition kHidden{{"model.kind"}, {"mlp", "cnn"}};
const Condition kCnn{{"model.kind"}, {"cnn"}};
const Condition kBottlenecks{{"model.kind"},
                             models_where([](const ModelTraits& traits) { return traits.is_bottleneck; })};
const Condition kDeep{{"model.kind"},
                      models_where([](const ModelTraits& traits) { return !traits.depths.empty(); })};
const Condition kPublished{{"model.kind"},
                           models_where([](const ModelTraits& traits) { return traits.is_published; })};
const Condition kNamed{{"model.kind"},
                       models_where([](const ModelTraits& traits) { return traits.kind != "layers"; })};
const Condition kSynthetic{{"data.dataset", "data.fallback"}, {"synthetic"}};
const Condition kDatasetOfFiles{
    {"data.dataset"},
    {"mnist", "fashion_mnist", "cifar10", "cifar100", "idx", "image_folder", "tar", "arrays", "csv"}};
const Condition kPictures{{"data.dataset"}, {"image_folder", "tar"}};
const Condition kSkipping{{"data.on_bad_example"}, {"skip"}};
const Condition kCsv{{"data.dataset"}, {"csv"}};
const Condition kDividing{{"data.dataset"}, {"image_folder", "tar", "arrays", "csv"}};
const Condition kSgd{{"train.optimizer.kind"}, {"sgd"}};
const Condition kRmsprop{{"train.optimizer.kind"}, {"rmsprop"}};
const Condition kMomentum{{"train.optimizer.kind"}, {"sgd", "rmsprop"}};
const Condition kEpsilon{{"train.optimizer.kind"}, {"rmsprop", "adam", "adamw"}};
const Condition kAdam{{"train.optimizer.kind"}, {"adam", "adamw"}};
// A piecewise schedule gives every learning rate itself.
const Condition kOneRate{
    {"train.schedule.kind"},
    {"constant", "step", "exponential", "cosine", "polynomial", "one_cycle", "reduce_on_plateau"}};
const Condition kCounted{{"train.schedule.kind"},
                         {"piecewise", "step", "exponential", "cosine", "polynomial", "one_cycle"}};
const Condition kPiecewise{{"train.schedule.kind"}, {"piecewise"}};
const Condition kRepeated{{"train.schedule.kind"}, {"step", "exponential"}};
const Condition kMultiplied{{"train.schedule.kind"}, {"step", "exponential", "reduce_on_plateau"}};
const Condition kStretched{{"train.schedule.kind"}, {"cosine", "polynomial", "one_cycle"}};
const Condition kPolynomial{{"train.schedule.kind"}, {"polynomial"}};
const Condition kOneCycle{{"train.schedule.kind"}, {"one_cycle"}};
const Condition kEnding{{"train.schedule.kind"}, {"cosine", "polynomial", "one_cycle", "reduce_on_plateau"}};
const Condition kPlateau{{"train.schedule.kind"}, {"reduce_on_plateau"}};
const Condition kBest{{"checkpoint.best.metric"}, metric_names()};
const Condition kEarlyStopping{{"callbacks.early_stopping.metric"}, metric_names()};
const Condition kHuber{{"train.loss.kind"}, {"huber"}};
const Condition kOfClasses{{"train.loss.kind"}, {"cross_entropy", "binary_cross_entropy"}};
const Condition kScaled{{"train.learning_rate_scaling.rule"}, {"linear", "sqrt"}};

const Choices kStems{"stem", {"large", "small"}};
const Choices kBottleneckStrides{"stride", {"middle", "first"}};
const Choices kDtypes{"dtype", {"float32", "float64"}};
const Choices kScalingRules{"scaling rule", {"none", "linear", "sqrt"}};
const Choices kScheduleUnits{"unit", {"epochs", "steps"}};
const Choices kEvaluatedMetrics{"metric", metric_names()};
const Choices kLosses{"loss", objective_names()};
const Choices kModes{"mode", {"auto", "min", "max"}};
const Choices kBaselines{"baseline", {"none", "one_device"}};
const Choices kCommunications{"communication", {"auto", "shared_memory", "gloo", "nccl"}};
const Choices kCompressions{"compression", {"none", "bf16", "fp16"}};
const Choices kDecayExclusions{"exclusion", {"biases_and_norms", "none"}};
const Choices kSteps{"way", {"auto", "compiled", "eager"}};
const Choices kPrecisions{"precision", {"float32", "bf16_mixed", "fp16_mixed"}};
const Choices kStalenessRules{"rule", {"none", "inverse"}};
const Choices kCudaData{"place", {"auto", "resident", "uploaded"}};
const Choices kSamplings{"sampling", {"natural", "balanced"}};
const Choices kTargetKinds{"kind", {"auto", "classes", "numbers"}};
const Choices kMissing{"way", {"error", "mean"}};
const Choices kCaches{"cache", {"auto", "disk", "memory", "none"}};
const Choices kBadExamples{"way", {"error", "skip"}};
const Choices kFits{"fit", {"stretch", "crop", "pad"}};
const Choices kDevices{"device", {"auto", "cpu", "cuda"}};

}  // namespace

const Choices& strategy_kinds() {
  static const Choices choices{"strategy", strategies_where([](const StrategyTraits&) { return true; })};
  return choices;
}

const Choices& dataset_kinds() {
  static const Choices choices{"dataset",
                               {"mnist", "fashion_mnist", "cifar10", "cifar100", "idx", "image_folder", "tar",
                                "arrays", "csv", "synthetic"}};
  return choices;
}

const Choices& model_kinds() {
  static const Choices choices{"model", models_where([](const ModelTraits&) { return true; })};
  return choices;
}

const Choices& activation_kinds() {
  static const Choices choices{"activation", {"relu", "relu6", "gelu", "tanh", "sigmoid"}};
  return choices;
}

const Choices& initializer_kinds() {
  static const Choices choices{
      "initializer",
      {"glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "zeros"}};
  return choices;
}

const Choices& optimizer_kinds() {
  static const Choices choices{"optimizer", {"sgd", "rmsprop", "adam", "adamw"}};
  return choices;
}

const Choices& schedule_kinds() {
  static const Choices choices{"schedule",
                               {"constant", "piecewise", "step", "exponential", "cosine", "polynomial",
                                "one_cycle", "reduce_on_plateau"}};
  return choices;
}

#define JOB(...) FIELD(JobSpec, __VA_ARGS__)

const Fields<JobSpec>& job_fields() {
  // clang-format off
  static const Fields<JobSpec> fields = {
      JOB(name, .doc = "names the job and the folder of its runs", .pattern = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
          .common = true),
      JOB(seed, .doc = "decides initial weights, the order of the examples, dropout and synthetic data",
          .bounds = {.minimum = 0}),

      JOB(strategy.kind, .doc = "where variables live and how the replicas' gradients become one update",
          .choices = &strategy_kinds(), .common = true),
      JOB(strategy.replicas, .doc = "processes that train, each with a copy of the model, on all hosts together; of "
          "tpu, devices",
          .bounds = between(1, 1024), .word = "auto", .when = kReplicated, .common = true),
      JOB(strategy.devices, .doc = "where replicas run: a word for all of them (cuda: each on a GPU of its own; "
          "auto: GPUs where they can be used, else cpu), or a list with one device for each replica of a host",
          .choices = &kDevices, .length = {1, 1024}, .pattern = "cpu|cuda:[0-9]{1,2}"),
      JOB(strategy.threads_per_replica, .doc = "computing threads of each replica; auto divides the cores",
          .bounds = between(1, 1024), .word = "auto"),
      JOB(strategy.communication, .doc = "how replicas exchange tensors: auto is shared_memory on one host, and nccl "
          "between GPUs; gloo goes through sockets, overlaps with the backward pass, and is what several hosts use",
          .choices = &kCommunications, .when = kExchanging),
      JOB(strategy.timeout_seconds, .doc = "how long replicas wait for each other before the job ends", .unit = "s",
          .bounds = above_zero_to(86400)),
      JOB(strategy.bucket_megabytes, .doc = "gradients are exchanged over gloo in buckets of about this size",
          .unit = "MB", .bounds = above_zero_to(4096), .when = kExchanging),
      JOB(strategy.compress, .doc = "the type in which gradients are sent between hosts, or through gloo: half the "
          "bytes, and sums of that precision", .choices = &kCompressions, .when = kExchanging),
      JOB(strategy.workers, .doc = "processes that train, each on its own", .bounds = between(1, 1024),
          .when = kParameterServer, .required = true),
      JOB(strategy.servers, .doc = "processes that hold the variables and update them", .bounds = between(1, 1024),
          .when = kParameterServer),
      JOB(strategy.max_staleness, .doc = "how many updates by others may come between a worker's reading of the "
          "variables and its own update; faster workers wait. At least `workers` - 1", .unit = "updates",
          .bounds = between(0, 1e6), .word = "none", .when = kParameterServer),
      JOB(strategy.staleness_learning_rate, .doc = "inverse: an update with a staleness of s is made with the "
          "learning rate / (1 + s)", .choices = &kStalenessRules, .when = kParameterServer),
      JOB(strategy.min_shard_kib, .doc = "a variable is divided among servers into shards of at least this size",
          .unit = "KiB", .bounds = between(1, 1 << 30), .when = kParameterServer),
      JOB(strategy.restart_workers, .doc = "how many times each worker is started again when it dies, except worker "
          "0, without which the job ends", .unit = "times", .bounds = between(0, 1000), .when = kParameterServer),
      JOB(strategy.plugin, .doc = "the library that drives the TPUs, or other devices of [PJRT](tpu.md#plugins); auto: "
          "$TPU_LIBRARY_PATH, else libtpu where it is usually installed", .word = "auto", .when = kTpu),
      JOB(strategy.fallback, .doc = "where no TPU can be used, train with mirrored instead, and say so",
          .when = kTpu),

      JOB(data.dataset, .doc = "the examples to train and evaluate on; arrays and csv are [your own "
          "numbers](tables.md); synthetic ones are for benchmarks",
          .choices = &dataset_kinds(), .common = true),
      JOB(data.path, .doc = "the folder with the dataset's files, or of arrays and csv a file; no other is searched "
          "for them; relative to the spec", .otherwise = "searched", .when = kDatasetOfFiles, .file_system = true),
      JOB(data.fallback, .doc = "the dataset to use if no files of the first are found; the run says so",
          .choices = &dataset_kinds(), .word = "none"),
      JOB(data.shuffle, .doc = "train in a new random order every epoch"),
      JOB(data.sampling, .doc = "natural: an epoch has each training example once; balanced: it has as many of each "
          "class, those of rare classes several times ([rare classes](data.md#rare-classes))",
          .choices = &kSamplings),
      JOB(data.drop_remainder, .doc = "leave out the last step of an epoch if it is smaller than a global batch"),
      JOB(data.train_examples, .doc = "use only this many of the training examples, the first ones",
          .unit = "examples", .bounds = between(1, 1e9), .word = "all"),
      JOB(data.test_examples, .doc = "use only this many of the test examples, the first ones", .unit = "examples",
          .bounds = between(1, 1e9), .word = "all"),
      JOB(data.target, .doc = "the column to predict, or a list of columns with numbers", .length = {1, 1000},
          .one_or_more = true, .when = kCsv, .required = true),
      JOB(data.target_kind, .doc = "whether the column to predict names classes; auto: as `train.loss` needs it",
          .choices = &kTargetKinds, .when = kCsv),
      JOB(data.ignore, .doc = "columns that are left out, such as numbers of rows", .length = {0, 1000},
          .one_or_more = true, .when = kCsv),
      JOB(data.missing, .doc = "what to do about a missing value of an input: refuse the table, or fill in the mean "
          "of the training examples (of a column of words: none of its categories)",
          .choices = &kMissing, .when = kCsv),
      JOB(data.image.size, .doc = "height and width that pictures are brought to", .unit = "pixels",
          .bounds = between(1, 4096), .length = {2, 2}, .when = kPictures, .required = true),
      JOB(data.image.fit, .doc = "how: stretch changes proportions; crop keeps them and cuts off what is over; pad "
          "keeps them and adds black bars", .choices = &kFits, .when = kPictures),
      JOB(data.image.channels, .doc = "3: red, green and blue; 1: grey", .bounds = between(1, 3),
          .when = kPictures),
      JOB(data.image.scaled_decoding, .doc = "decode a JPEG at a half, a quarter or an eighth of its size, if that is "
          "not below `data.image.size`: large photographs are read faster, with slightly other pixels",
          .when = kPictures),
      JOB(data.image.mean, .doc = "subtracted from pixels, after they are scaled to 0..1: one number for all channels, "
          "or one for each; imagenet: 0.485, 0.456, 0.406; measured: that of each channel of the training pictures, "
          "which is kept with the model", .bounds = between(-1e6, 1e6), .length = {1, 4096}, .one_or_more = true,
          .named = {{"imagenet", {{0.485, 0.456, 0.406}}}, {"measured", {.measured = true}}},
          .otherwise = "`data.mean`"),
      JOB(data.image.standard_deviation, .doc = "divides pixels, after the mean is subtracted; imagenet: 0.229, 0.224, "
          "0.225; measured: as above", .bounds = between(1e-6, 1e6), .length = {1, 4096}, .one_or_more = true,
          .named = {{"imagenet", {{0.229, 0.224, 0.225}}}, {"measured", {.measured = true}}},
          .otherwise = "`data.standard_deviation`"),
      JOB(data.augment, .doc = "what is done to pictures before they are trained on, at random, in this order "
          "([augmentation](data.md#augmentation)); a plain word is the kind", .length = {0, 32}),
      JOB(data.split.test, .doc = "keep this part of the examples for the test, where there is no folder `test/` or "
          "file for it; of pictures the names of the files decide which, so that a new one moves no other",
          .bounds = {0.0, 1.0, true, true}, .word = "none", .when = kDividing),
      JOB(data.split.validation, .doc = "keep this part of the training examples for validation: evaluations during "
          "training are of it, and the test examples are evaluated once, at the end "
          "([validation](training.md#validation))", .bounds = {0.0, 1.0, true, true}, .word = "none"),
      JOB(data.split.seed, .doc = "decides, with the number of examples, which of them are in the test and validation "
          "parts; of pictures, with their names", .bounds = {.minimum = 0}),
      JOB(data.shape, .doc = "channels, height and width of a synthetic image", .bounds = between(1, 4096),
          .length = {3, 3}, .when = kSynthetic),
      JOB(data.classes, .doc = "how many classes there are; auto: as many as the labels in the files name, of mnist "
          "at most 10; 10 of a synthetic dataset", .bounds = between(2, 1e6), .word = "auto"),
      JOB(data.class_names, .doc = "the names of the classes, in order; by default those of the dataset, such as the "
          "names of an image_folder's folders", .length = {0, 10000}),
      JOB(data.mean, .doc = "subtracted from pixels, after they are scaled to 0..1; `data.image.mean` can be another "
          "for each channel", .bounds = between(-1e6, 1e6)),
      JOB(data.standard_deviation, .doc = "divides pixels, after the mean is subtracted",
          .bounds = between(1e-6, 1e6)),
      JOB(data.cache, .doc = "disk: decode and scale the pictures once, into a file that all replicas and later runs "
          "share (`dtrain cache`); memory: once for each run of the program, into memory that the replicas of a "
          "host share; none: whenever a batch needs them; auto: disk, if the file fits there, else none",
          .choices = &kCaches, .when = kPictures),
      JOB(data.cache_gigabytes, .doc = "how much the decoded pictures may take", .unit = "GB",
          .bounds = above_zero_to(1e6), .when = kPictures),
      JOB(data.on_bad_example, .doc = "what a picture that cannot be read does: error: it ends the job; skip: it is "
          "left out, for which all pictures are read once, before the job begins "
          "([bad pictures](data.md#bad-pictures))",
          .choices = &kBadExamples, .when = kPictures),
      JOB(data.bad_examples_allowed, .doc = "how many pictures may be left out; more are an error", .unit = "pictures",
          .bounds = between(0, 1e9), .when = kSkipping),
      JOB(data.prefetch, .doc = "how many batches a separate thread prepares ahead of training, which helps if a core "
          "has nothing else to do; 0: none; auto: 2 of pictures without a cache, else none", .unit = "batches",
          .bounds = between(0, 1024), .word = "auto"),

      JOB(batch.per_replica, .doc = "examples in one forward and backward pass of a replica, with `global` at most; "
          "give this or `global` or both; auto, with `global`: as many as fit into memory, "
          "[measured](training.md#batches) when a run begins", .unit = "examples", .bounds = between(1, 1e6),
          .word = "auto", .word_number = kLargestThatFits, .otherwise = "from `global`", .common = true),
      JOB(batch.global, .doc = "examples of one update over all replicas and accumulated passes; give this or "
          "`per_replica` or both", .unit = "examples", .bounds = between(1, 1e9), .otherwise = "from `per_replica`"),
      JOB(batch.accumulate_steps, .doc = "passes whose gradients are summed before one update", .unit = "passes",
          .bounds = between(1, 10000), .otherwise = "1; with `per_replica` and `global` as many as that takes"),

      JOB(model.kind, .doc = "mlp: dense layers; cnn: convolutions, then dense layers; layers: a list of your own; the "
          "others: [published networks](models.md)", .choices = &model_kinds(), .common = true),
      JOB(model.hidden, .doc = "units of each hidden dense layer", .unit = "units", .bounds = between(1, 1e6),
          .length = {0, 100}, .when = kHidden),
      JOB(model.filters, .doc = "filters of each convolution, which a 2x2 max pooling follows", .unit = "filters",
          .bounds = between(1, 1e6), .length = {1, 100}, .when = kCnn),
      JOB(model.kernel_size, .doc = "height and width of the convolutions' kernels", .unit = "pixels",
          .bounds = between(1, 1024), .when = kCnn),
      JOB(model.depth, .doc = "layers with weights: resnet 18, 34, 50 or 101; cifar_resnet 20, 32, 44, 56 or 110; "
          "wide_resnet 50 or 101; vgg 11, 13, 16 or 19", .unit = "layers", .bounds = between(11, 110),
          .otherwise = "resnet: 18; cifar_resnet: 20; wide_resnet: 50; vgg: 16", .when = kDeep),
      JOB(model.stem, .doc = "large: a convolution of 7x7 and a pooling, each with a stride of 2, for images of 100 "
          "pixels and more; small: a convolution of 3x3", .choices = &kStems, .when = kBottlenecks),
      JOB(model.bottleneck_stride, .doc = "which convolution of a block of three has the stride; middle: the 3x3 one, "
          "as in torchvision (v1.5); first: the 1x1 one, as in the paper and in Keras (v1)",
          .choices = &kBottleneckStrides, .when = kBottlenecks),
      JOB(model.batch_norm, .doc = "normalise after each convolution", .when = {{"model.kind"}, {"vgg"}}),
      JOB(model.include_top, .doc = "false: without the network's own last layers; `head` takes their place",
          .when = kPublished),
      JOB(model.head, .doc = "with `include_top: false`: the [layers](#modellayers) after the network's last feature "
          "maps, of which the last gives the outputs; `[]`: global_avg_pool2d, dropout (`model.dropout`), dense",
          .length = {0, 100}, .when = kPublished),
      JOB(model.activation, .doc = "after every hidden layer", .choices = &activation_kinds(), .when = kHidden),
      JOB(model.dropout, .doc = "the share of hidden units, or of a published network's units before "
          "its dense layers, set to zero while training", .bounds = zero_to_below_one(), .when = kNamed),
      JOB(model.initializer, .doc = "the distribution of the initial weights; biases start at zero",
          .choices = &initializer_kinds(), .when = kNamed),
      JOB(model.layers, .doc = "the layers from input to output ([layers](#modellayers))", .length = {1, 1000},
          .when = {{"model.kind"}, {"layers"}}, .required = true),
      JOB(model.dtype, .doc = "the type of weights and activations", .choices = &kDtypes),
      JOB(model.weights, .doc = "start from the weights of this run, checkpoint or .safetensors file of `dtrain "
          "export` or [scripts/convert_weights](models.md#pretrained-weights) instead of initial ones; relative to the "
          "spec", .word = "none", .file_system = true),
      JOB(model.weights_prefix, .doc = "take only the variables whose names begin so, such as `conv2d`; the rest keep "
          "their initial values. none: take all, which must then be exactly those of the model", .word = "none"),

      JOB(train.epochs, .doc = "passes over the training examples", .unit = "epochs", .bounds = between(1, 1e6),
          .common = true, .without_phases = true),
      JOB(train.max_steps, .doc = "stop after this many updates, whatever `epochs` is; 0: only evaluate and "
          "save the weights that training would begin with", .unit = "steps", .bounds = between(0, 1e12),
          .word = "none"),
      JOB(train.optimizer.kind, .doc = "how gradients change the weights", .choices = &optimizer_kinds(),
          .common = true),
      JOB(train.optimizer.learning_rate, .doc = "before scaling, warmup and schedule", .bounds = above_zero_to(1e6),
          .when = kOneRate, .common = true),
      JOB(train.optimizer.momentum, .doc = "the share of the last update that is kept",
          .bounds = zero_to_below_one(), .when = kMomentum),
      JOB(train.optimizer.nesterov, .doc = "Nesterov's momentum", .when = kSgd),
      JOB(train.optimizer.decay, .doc = "decay of the mean of the squared gradients", .bounds = zero_to_below_one(),
          .when = kRmsprop),
      JOB(train.optimizer.beta1, .doc = "decay of the mean of the gradients", .bounds = zero_to_below_one(),
          .when = kAdam),
      JOB(train.optimizer.beta2, .doc = "decay of the mean of the squared gradients",
          .bounds = zero_to_below_one(), .when = kAdam),
      JOB(train.optimizer.epsilon, .doc = "added to the divisor of an update", .bounds = above_zero_to(1),
          .when = kEpsilon),
      JOB(train.optimizer.weight_decay, .doc = "sgd, rmsprop, adam: the L2 penalty; adamw: decoupled decay",
          .bounds = between(0, 1000)),
      JOB(train.optimizer.weight_decay_exclude, .doc = "what does not decay: the biases, and the scales of "
          "`batch_norm` and `layer_norm`", .choices = &kDecayExclusions),
      JOB(train.loss.kind, .doc = "what training minimises ([losses](training.md#losses)); `loss: huber` is short for "
          "`loss: {kind: huber}`",
          .choices = &kLosses),
      JOB(train.loss.delta, .doc = "the error from which on the loss grows linearly and no longer with its square",
          .bounds = above_zero_to(1e9), .when = kHuber),
      JOB(train.loss.class_weights, .doc = "what the losses of each class's examples are multiplied by in training: a "
          "list for the classes in order (of binary_cross_entropy for the targets 0 and 1), numbers by the classes' "
          "names (those left out weigh 1), or balanced: training examples / (classes * those of the class)",
          .bounds = between(0, 1e6), .length = {0, 100000}, .when = kOfClasses),
      JOB(train.step, .doc = "how a step is computed on a processor: compiled, by a program made once from the layers, "
          "or eager, operation by operation; auto: compiled where it can be and is faster "
          "([training](training.md#steps))",
          .choices = &kSteps),
      JOB(train.precision, .doc = "bf16_mixed, fp16_mixed: convolutions and dense layers compute in 16 bits while "
          "weights, optimizer and evaluations stay in float32; fp16 scales the loss "
          "([training](training.md#precision))",
          .choices = &kPrecisions),
      JOB(train.channels_last, .doc = "keep images in memory as [n, height, width, channels], with which many "
          "convolutions are faster, on cores and on GPUs ([training](training.md#memory-layout))"),
      JOB(train.clip_norm, .doc = "a gradient (summed over the replicas) with a larger norm is scaled down to this "
          "norm; 0: none",
          .bounds = between(0, 1e12)),
      JOB(train.label_smoothing, .doc = "the share of each target that is spread evenly over all classes; "
          "evaluations do not smooth", .bounds = zero_to_below_one(), .when = kOfClasses),
      JOB(train.ema.decay, .doc = "keep an exponential moving average of the weights, a <- decay a + (1 - decay) w "
          "after each update, and evaluate and export the average; 0: none", .bounds = zero_to_below_one()),
      JOB(train.sync_batch_norm, .doc = "`batch_norm` normalises by the statistics of all replicas' batches together, "
          "and not by those of each batch"),
      JOB(train.learning_rate_scaling.rule, .doc = "how the learning rate grows with the global batch: not, with it, "
          "or with its square root", .choices = &kScalingRules),
      JOB(train.learning_rate_scaling.reference_batch, .doc = "the global batch that `learning_rate` was tuned for",
          .unit = "examples", .bounds = between(1, 1e9), .otherwise = "not scaled", .when = kScaled,
          .required = true),
      JOB(train.learning_rate_scaling.warmup_steps, .doc = "the learning rate rises linearly over this many updates, "
          "up to that of the schedule", .unit = "steps", .bounds = between(0, 1e9)),
      JOB(train.schedule.kind, .doc = "how the learning rate changes while training; [schedules](schedules.md) has the "
          "formulas", .choices = &schedule_kinds(), .without_phases = true),
      JOB(train.schedule.unit, .doc = "what `boundaries`, `every` and `over` count: passes over the training "
          "examples, or updates", .choices = &kScheduleUnits, .when = kCounted, .without_phases = true),
      JOB(train.schedule.boundaries, .doc = "after how many epochs (or steps) each next one of `values` begins; "
          "ascending",
          .bounds = between(1, 1e12), .length = {1, 10000}, .when = kPiecewise, .required = true,
          .without_phases = true),
      JOB(train.schedule.values, .doc = "the learning rates, before scaling and warmup; one more than `boundaries`",
          .bounds = above_zero_to(1e6), .length = {2, 10001}, .when = kPiecewise, .required = true,
          .without_phases = true),
      JOB(train.schedule.every, .doc = "epochs (or steps) between multiplications of the rate by `factor`; "
          "`exponential` multiplies it gradually", .bounds = between(1, 1e12), .when = kRepeated,
          .without_phases = true),
      JOB(train.schedule.factor, .doc = "multiplies the learning rate", .bounds = {0.0, 1.0, true, true},
          .when = kMultiplied, .without_phases = true),
      JOB(train.schedule.over, .doc = "epochs (or steps) until the curve ends; the rate then stays; all: the whole "
          "training", .bounds = between(1, 1e12), .word = "all", .when = kStretched, .without_phases = true),
      JOB(train.schedule.power, .doc = "the power of the polynomial; 1 is a straight line",
          .bounds = above_zero_to(100),
          .when = kPolynomial, .without_phases = true),
      JOB(train.schedule.initial_factor, .doc = "the first rate, as a part of `learning_rate`",
          .bounds = {0.0, 1.0, true, false}, .when = kOneCycle, .without_phases = true),
      JOB(train.schedule.peak_at, .doc = "where the rate is at its highest, as a part of `over`",
          .bounds = {0.0, 1.0, true, true}, .when = kOneCycle, .without_phases = true),
      JOB(train.schedule.final_factor, .doc = "the lowest rate, at the end, as a part of `learning_rate`",
          .bounds = {0.0, 1.0, false, true}, .when = kEnding, .without_phases = true),
      JOB(train.schedule.metric, .doc = "the metric of the evaluations that should improve",
          .choices = &kEvaluatedMetrics,
          .when = kPlateau, .without_phases = true),
      JOB(train.schedule.patience, .doc = "reduce the rate after this many evaluations in a row without improvement",
          .unit = "evaluations", .bounds = between(1, 1e6), .when = kPlateau, .without_phases = true),
      JOB(train.schedule.cooldown, .doc = "how many evaluations after a reduction do not count", .unit = "evaluations",
          .bounds = between(0, 1e6), .when = kPlateau, .without_phases = true),
      JOB(train.schedule.min_delta, .doc = "the smallest change of the metric that is an improvement",
          .bounds = between(0, 1e6), .when = kPlateau, .without_phases = true),

      JOB(phases, .doc = "parts of the training, each with layers and a learning rate of its own ([phases](#phases)); "
          "without any, all layers are trained for `train.epochs`", .length = {0, 100}),

      JOB(evaluate.every_epochs, .doc = "epochs between evaluations; the last epoch is always evaluated",
          .unit = "epochs",
          .bounds = between(1, 1e6)),
      JOB(evaluate.batch_per_replica, .doc = "examples in one forward pass of an evaluation", .unit = "examples",
          .bounds = between(1, 1e6)),
      JOB(evaluate.flip,
          .doc = "evaluations and predictions average what the model says of a picture and of its mirror "
          "image ([views](evaluation.md#views-of-a-picture)); it takes twice the time"),
      JOB(evaluate.zoom,
          .doc = "they average what the model says of a picture and of its middle, this part of its width and "
          "height, scaled up to the whole ([views](evaluation.md#views-of-a-picture)); it takes twice the time; "
          "1: not at all",
          .bounds = between(0.1, 1)),

      JOB(checkpoint.every_epochs, .doc = "epochs between checkpoints; give at most one of the three",
          .unit = "epochs", .bounds = between(1, 1e6), .word = "none", .common = true),
      JOB(checkpoint.every_steps, .doc = "updates between checkpoints", .unit = "steps",
          .bounds = between(1, 1e12), .word = "none"),
      JOB(checkpoint.every_minutes, .doc = "minutes between checkpoints", .unit = "min",
          .bounds = between(1, 1e6), .word = "none"),
      JOB(checkpoint.final, .doc = "save the final model, and what a stop signal interrupts, whatever else is saved"),
      JOB(checkpoint.keep, .doc = "how many of the last checkpoints to keep", .unit = "checkpoints",
          .bounds = between(1, 1e6)),
      JOB(checkpoint.best.metric, .doc = "save a checkpoint whenever an evaluation has a better value of this metric, "
          "and keep the best", .choices = &kEvaluatedMetrics, .word = "none"),
      JOB(checkpoint.best.mode, .doc = "which value is the best; auto: the lowest loss or error, the highest of the "
          "others",
          .choices = &kModes, .when = kBest),

      JOB(checks.every_steps, .doc = "updates between checks that no replica's variables are corrupt, which are also "
          "made before every checkpoint ([what is found](strategies.md#corrupt-variables))", .unit = "steps",
          .bounds = between(1, 1e12),
          .word = "none"),

      JOB(restarts.max, .doc = "when a process dies, restart the run from its newest good checkpoint; at most this "
          "many times in a row without a new checkpoint; auto: 3 if checkpoints are saved during the run, else 0",
          .bounds = between(0, 1e6), .word = "auto"),
      JOB(restarts.backoff_seconds, .doc = "how long to wait before a restart that follows another without progress; "
          "twice as long before each further one", .unit = "s", .bounds = between(0, 3600)),
      JOB(restarts.min_replicas, .doc = "when a host is lost and does not come back, continue with at least this many "
          "replicas; all: wait for it, then end", .bounds = between(1, 65536), .word = "all"),

      JOB(callbacks.csv, .doc = "write the numbers of every epoch and evaluation to history.csv in the run's folder"),
      JOB(callbacks.tensorboard, .doc = "write TensorBoard's event files to tensorboard/ in the run's folder"),
      JOB(callbacks.tensorboard_histograms, .doc = "with `tensorboard`: also histograms of weights and gradients at "
          "the last update of every epoch"),
      JOB(callbacks.print_learning_rate, .doc = "print the learning rate after every epoch"),
      JOB(callbacks.terminate_on_nan, .doc = "check the loss after every update, not only every "
          "`metrics.every_steps`; a loss that is not a finite number always ends the job"),
      JOB(callbacks.early_stopping.metric, .doc = "the metric of the evaluations; training ends when it no longer "
          "improves",
          .choices = &kEvaluatedMetrics, .word = "none"),
      JOB(callbacks.early_stopping.patience, .doc = "end the training after this many evaluations in a row without "
          "improvement",
          .unit = "evaluations", .bounds = between(1, 1e6), .when = kEarlyStopping),
      JOB(callbacks.early_stopping.min_delta, .doc = "the smallest change of the metric that is an improvement",
          .bounds = between(0, 1e6), .when = kEarlyStopping),
      JOB(callbacks.early_stopping.restore_best, .doc = "the run ends with the weights of its best evaluation, by "
          "`checkpoint.best.metric`, which is then by default the `metric` here; false: with its last weights",
          .when = kEarlyStopping),
      JOB(callbacks.profile.start_step, .doc = "write a trace of this update (from 1) and those after it to "
          "profile.json in the run's folder, for chrome://tracing or ui.perfetto.dev", .bounds = between(1, 1e12),
          .word = "none"),
      JOB(callbacks.profile.steps, .doc = "how many updates to trace", .unit = "steps", .bounds = between(1, 100)),

      JOB(metrics.every_steps, .doc = "updates between reports of the training metrics", .unit = "steps",
          .bounds = between(1, 1e9)),
      JOB(metrics.skip_steps, .doc = "how many first updates to leave out of step times", .unit = "steps",
          .bounds = between(0, 1e9)),
      JOB(metrics.inspect_step, .doc = "the update (from 1) that is shown replica by replica and checked; also "
          "`dtrain run --inspect-step`", .bounds = between(1, 1e12), .word = "none"),

      JOB(compare.baseline, .doc = "a run to compare with, made first, with the same seed", .choices = &kBaselines),

      JOB(hosts, .doc = "the hosts of the job, of which the first leads; each runs `dtrain run` with its share of the "
          "replicas (docs/launching.md)", .length = {0, 1024}, .pattern = "[A-Za-z0-9][A-Za-z0-9.:-]{0,252}"),
      JOB(network.interface, .doc = "the interface (or its address) that the job listens on; auto: loopback on one "
          "host; with several hosts, the one through which they reach the first",
          .pattern = "[A-Za-z0-9][A-Za-z0-9._:@-]{0,252}", .word = "auto"),
      JOB(network.port, .doc = "the port on which the first host waits for the others; auto: the launcher's, else one "
          "made from the launcher's job number, else 29400", .bounds = between(1, 65535), .word = "auto"),
      JOB(network.rendezvous_timeout_seconds, .doc = "how long to wait until every replica has started and loaded its "
          "data",
          .unit = "s", .bounds = above_zero_to(86400)),

      JOB(cuda.graphs, .doc = "record the training step of a GPU once and replay it, which saves work of the "
          "processor; steps of another size are not recorded"),
      JOB(cuda.data, .doc = "where examples are stored: resident keeps all of them in the GPU's memory, uploaded "
          "sends each batch; auto is resident if they take at most a quarter of the free memory and are not augmented",
          .choices = &kCudaData),
      JOB(cuda.tf32, .doc = "float32 matrix products and convolutions with TensorFloat-32: faster, 10 bits of "
          "mantissa"),
      JOB(cuda.cudnn_benchmark, .doc = "try cuDNN's algorithms for each convolution and use the fastest; runs then "
          "differ in their bits"),
  };
  // clang-format on
  return fields;
}

}  // namespace dtrain
