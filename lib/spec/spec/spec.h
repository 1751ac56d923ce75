// A job spec as plain structs. The members' initialisers are the only place for defaults. The meaning, bounds
// and unit of each field are in fields.cpp, for parsing, overrides, printing, JSON schema and docs/spec.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traits/kind_fields.h"
#include "traits/models.h"
#include "traits/strategies.h"

namespace dtrain {

// The copy of a model's program (`model.kind: torchscript`), in the folder of a run and of a checkpoint.
constexpr const char* kProgramFile = "program.pt";

// The outer optimizer, which applies the mean of the hosts' changes.
struct OuterSpec {
  std::string kind = "nesterov";  // nesterov | sgd
  double learning_rate = 0.7, momentum = 0.9;
};

// Steps that each host makes on its own.
struct LocalStepsSpec {
  std::optional<int64_t> every;  // nullopt: none; hosts make each step together
  OuterSpec outer;
};

struct StrategySpec {
  std::string kind = "one_device";
  std::optional<int64_t> replicas;              // nullopt: auto
  std::optional<int64_t> virtual_replicas;      // nullopt: none
  std::vector<std::string> devices = {"auto"};  // one word (auto, cpu, cuda) or a list of devices
  std::optional<int64_t> threads_per_replica;   // nullopt: auto, the cores divided by the replicas
  std::string communication = "auto";
  double timeout_seconds = 60;
  double bucket_megabytes = 25;
  std::string compress = "none";                 // what is sent: none | bf16 | fp16 | int8
  LocalStepsSpec local_steps;                    // multi_worker_mirrored
  bool shard_optimizer = false;                  // multi_worker_mirrored
  int64_t servers = 1;                           // parameter_server
  int64_t workers = 1;                           // parameter_server
  std::optional<int64_t> max_staleness;          // parameter_server; nullopt: no bound
  std::string staleness_learning_rate = "none";  // parameter_server: none | inverse
  int64_t min_shard_kib = 256;                   // parameter_server
  int64_t restart_workers = 0;                   // parameter_server: for each worker
  std::optional<std::string> plugin;             // tpu, train.step xla; nullopt: auto, where it usually is
  bool fallback = false;                         // tpu: train with mirrored if there is none
  bool quick_compile = false;                    // the same: compile faster; programs may run slower
  std::optional<int64_t> steps_per_execution;    // the same; nullopt: auto
};

// Settings for replicas on GPUs.
struct CudaSpec {
  bool graphs = true;
  std::string data = "auto";  // auto | resident | uploaded
  bool tf32 = false;
  bool cudnn_benchmark = false;
};

// The parts that are kept for validation and for the test.
struct SplitSpec {
  std::optional<double> validation;   // of the training examples; nullopt: none
  std::optional<double> test;         // pictures, arrays, tables: of all examples; nullopt: their own
  std::optional<int64_t> folds = {};  // of the training examples, one of them for validation; nullopt: none
  int64_t fold = 1;
  int64_t seed = 1;
  bool stratify = false;
  std::optional<std::string> group = {};  // csv, parquet: a column; image_folder, tar: a pattern of names
  std::optional<std::string> time = {};   // csv, parquet: a column
  bool validates() const { return validation || folds; }
};

// A number for all channels or one for each, or numbers measured from the training pictures.
struct ChannelNumbers {
  std::vector<double> values = {};  // empty: not given, or not measured yet
  bool measured = false;            // by the training pictures; false once `values` has what was measured
};

// How pictures become the model's inputs.
struct ImageSpec {
  std::vector<int64_t> size;          // kPictureDatasets: height, width
  std::string fit = "stretch";        // kPictureDatasets: stretch | crop | pad
  int64_t channels = 3;               // kPictureDatasets: 1 | 3
  bool scaled_decoding = false;       // kPictureDatasets
  ChannelNumbers mean;                // not given: DataSpec::mean
  ChannelNumbers standard_deviation;  // the same
};

// One operation on pictures.
struct AugmentSpec {
  std::string kind;
  std::optional<double> probability = {};  // nullopt: that of the kind
  KindFields own = {};                     // those of the kind (spec/augment_kinds.h)

  // Whether it mixes examples, and with them their targets.
  bool mixes() const;
};

// The datasets of pictures in files, decoded into the cache or when they are needed, and whether one is such.
inline const std::vector<std::string> kPictureDatasets = {"image_folder", "tar", "image_parquet"};
inline bool is_picture_dataset(const std::string& name) {
  return std::ranges::find(kPictureDatasets, name) != kPictureDatasets.end();
}

// Whether a dataset is a table of named columns.
inline bool has_columns(const std::string& dataset) { return dataset == "csv" || dataset == "parquet"; }

struct DataSpec {
  std::string dataset = "mnist";
  std::optional<std::string> path;
  std::optional<std::string> fallback;
  bool stream = false;  // tar at an address
  bool shuffle = true;
  std::string sampling = "natural";  // natural | balanced
  bool drop_remainder = false;
  std::optional<int64_t> train_examples;     // nullopt: all
  std::optional<int64_t> test_examples;      // nullopt: all
  SplitSpec split;                           // of the train_examples
  std::vector<std::string> target;           // csv, parquet, image_parquet: columns
  std::string target_kind = "auto";          // csv, parquet: auto | classes | numbers
  std::vector<std::string> ignore;           // csv, parquet, image_parquet: columns
  std::optional<std::string> id;             // csv, parquet: a column
  std::string missing = "error";             // csv, parquet: error | mean
  std::vector<int64_t> shape = {1, 28, 28};  // synthetic only: channels, height, width
  std::optional<int64_t> classes;            // nullopt: auto, those of the labels, at most 10
  std::vector<std::string> class_names;      // by class; empty: the dataset's own
  ImageSpec image;
  std::vector<AugmentSpec> augment;      // of training examples, in this order
  double mean = 0;                       // subtracted after scaling to 0..1
  double standard_deviation = 1;         // divided by, after the mean
  std::optional<int64_t> prefetch;       // batches; nullopt: auto, 2 of pictures that are not cached, else 0
  std::string cache = "auto";            // kPictureDatasets: auto | disk | memory | none
  double cache_gigabytes = 50;           // pictures, features, and copies of files at addresses
  std::string on_bad_example = "error";  // kPictureDatasets: error | skip
  int64_t bad_examples_allowed = 100;    // kPictureDatasets

  // csv and parquet; the last three csv only.
  std::map<std::string, std::string> columns;  // number | words | date | ignore, by a column's name
  std::vector<std::string> missing_values;     // cells that are missing, besides those that always are
  std::string separator = "auto";              // auto | comma | semicolon | tab | bar
  std::string decimal = "auto";                // auto | point | comma
  std::string thousands = "auto";              // auto | none | point | comma | space | apostrophe

  // No field of a spec: the cache that a plan chose for `cache: auto`. Empty: there is no plan yet.
  std::string resolved_cache = {};
  const std::string& cache_in_use() const { return resolved_cache.empty() ? cache : resolved_cache; }
  // No fields of a spec: what a plan found at an address, and where its copies are on this host
  // (addresses/fetched_files.h). Empty: `path` is none, or it is not planned.
  std::string resolved_content = {};
  std::string resolved_place = {};
  // No field of a spec: the content at the address on which a checkpoint was trained. Empty: any.
  std::string saved_content = {};
  // No field of a spec: what a checkpoint keeps of the data that its model was trained on (saved_text() in
  // data/table_dataset.h). Empty: of a table, the training part decides.
  std::string saved_table = {};
};

constexpr int64_t kLargestThatFits = 0;  // batch.per_replica: auto

struct BatchSpec {
  std::optional<int64_t> per_replica;
  std::optional<int64_t> global;
  std::optional<int64_t> accumulate_steps;  // nullopt: 1, or what follows from the other two
};

struct LayerSpec {
  std::string kind = {};
  std::optional<std::string> name = {};  // nullopt: kind and number
  std::optional<std::string> from = {};  // a layer's name; nullopt: the layer before it
  KindFields own = {};                   // those of the kind (spec/layer_kinds.h)
};

struct ModelSpec {
  std::string kind = "mlp";
  std::vector<int64_t> hidden = {128};
  std::vector<int64_t> filters = {32};       // cnn
  int64_t kernel_size = 3;                   // cnn
  std::optional<int64_t> depth;              // traits/models.h says which; nullopt: the usual one
  std::optional<int64_t> widen_factor;       // wide_resnet of 16 to 40 layers; nullopt: 10
  std::string stem = "large";                // resnet, wide_resnet of 50 and more: large | small
  std::string bottleneck_stride = "middle";  // resnet, wide_resnet of 50 and more: middle | first
  std::string size = "base";                 // vit: base | small | tiny
  int64_t patch = 16;                        // vit
  bool batch_norm = false;                   // vgg
  bool include_top = true;                   // of a published network
  std::vector<LayerSpec> head;               // instead of its top; empty: pooled features and a dense layer
  std::string activation = "relu";
  double dropout = 0;
  std::string initializer = "glorot_uniform";
  std::vector<LayerSpec> layers;      // kind: layers
  std::optional<std::string> file;    // torchscript
  std::optional<std::string> sha256;  // torchscript: of the file; nullopt: that of a new run is not known yet
  std::optional<std::string> output;  // torchscript: of several outputs, by name; nullopt: the first
  std::string dtype = "float32";
  std::optional<std::string> weights;         // a checkpoint, a run or an export; nullopt: initial weights
  std::optional<std::string> weights_prefix;  // of the variables to take; nullopt: all
  KindFields own = {};                        // those of a plug-in's kind (spec/added_kinds.h)

  // No field of a spec: the copy of the file that a run or a checkpoint has; empty: there is none.
  std::string kept_file = {};
  bool has_file() const { return kind == "torchscript"; }
  // Whether it is no list of layers.
  bool is_program() const { return model_traits(kind).is_program; }
};

struct OptimizerSpec {
  std::string kind = "adam";
  double learning_rate = 1e-3;
  double weight_decay = 0;
  std::string weight_decay_exclude = "biases_and_norms";  // or none
  bool scales = true;   // in proportion to norms, as lars and lamb do; no field of a spec
  KindFields own = {};  // those of the kind (spec/optimizer_kinds.h)
};

// The optimizer of some parameters.
struct OptimizerEntry {
  std::string parameters = {};  // names; * stands for any text
  OptimizerSpec optimizer = {};
};

struct LearningRateScalingSpec {
  std::string rule = "none";
  std::optional<int64_t> reference_batch;
  int64_t warmup_steps = 0;
};

// How the learning rate changes from the optimizer's.
struct ScheduleSpec {
  std::string kind = "constant";
  KindFields own = {};  // those of the kind (spec/schedule_kinds.h)
};

// An exponential moving average of the weights.
struct WeightAverageSpec {
  double decay = 0;  // 0: no average is kept
};

// How much the classes weigh: in their order, by name, or by how rare they are.
struct ClassWeights {
  bool balanced = false;                // by the training examples; no weights until these are known
  std::vector<double> weights = {};     // of the classes in order, or of `names`; empty: all the same
  std::vector<std::string> names = {};  // as many as weights, or none; a class that is not named weighs 1
};

struct HuberFields {
  double delta = 1;
};

// What training minimises. In a spec, a plain word is the kind.
struct LossSpec {
  std::string kind = "cross_entropy";  // a name in the table of traits/objectives.h
  KindFields own = {};                 // HuberFields, or those of a plug-in's
  ClassWeights class_weights = {};     // cross_entropy, binary_cross_entropy
};

struct TrainSpec {
  int64_t epochs = 1;
  std::optional<int64_t> max_steps;  // nullopt: no limit
  OptimizerSpec optimizer;
  std::vector<OptimizerEntry> optimizers;  // of a parameter the first that names it, else `optimizer`
  LossSpec loss;
  std::string step = "auto";          // how it is computed on a processor: auto | compiled | eager
  std::string precision = "float32";  // of forward and backward: float32 | bf16_mixed | fp16_mixed
  bool channels_last = false;         // memory layout of images
  double clip_norm = 0;               // 0: not clipped
  double label_smoothing = 0;
  double layer_decay = 1;  // a layer's rate is that of the next, times this
  WeightAverageSpec ema;
  bool sync_batch_norm = false;
  LearningRateScalingSpec learning_rate_scaling;
  ScheduleSpec schedule;
};

// Which layers are trained, from the list that `dtrain plan` shows.
struct TrainableSpec {
  // Names; * stands for any text, all for all layers, head for those that belong to the data.
  std::vector<std::string> layers = {"all"};
  std::optional<int64_t> last_layers = {};  // instead of names: so many at the end of the list
};

// A part of a training with layers and a learning rate of its own. One of epochs and steps is given.
struct PhaseSpec {
  std::optional<std::string> name;  // nullopt: its number
  std::optional<int64_t> epochs;
  std::optional<int64_t> steps;
  TrainableSpec trainable;
  std::optional<double> learning_rate;  // nullopt: the optimizer's
  ScheduleSpec schedule;                // its epochs and steps are counted from the phase's first
  std::string cache_features = "auto";  // auto | memory | disk | none
};

struct EvaluateSpec {
  int64_t every_epochs = 1;
  int64_t batch_per_replica = 256;
  bool flip = false;  // of pictures
  double zoom = 1;    // of pictures; 1: not at all
};

struct BestCheckpointSpec {
  std::optional<std::string> metric;  // nullopt: no checkpoint is saved for being the best
  std::string mode = "auto";          // auto: whichever is better for the metric
};

// At most one of the three intervals is given.
struct CheckpointSpec {
  std::optional<int64_t> every_epochs;
  std::optional<int64_t> every_steps;
  std::optional<int64_t> every_minutes;
  int64_t keep = 3;
  BestCheckpointSpec best;
  bool final = true;

  bool saves_during_run() const { return every_epochs || every_steps || every_minutes || best.metric; }
  // Whether a run saves any checkpoint, and hence one when a signal stops it.
  bool saves() const { return saves_during_run() || final; }
};

struct EarlyStoppingSpec {
  std::optional<std::string> metric;  // nullopt: train to the end
  int64_t patience = 3;
  double min_delta = 0;
  bool restore_best = true;
};

struct ProfileSpec {
  std::optional<int64_t> start_step;  // nullopt: no profile
  int64_t steps = 5;
};

struct CallbacksSpec {
  bool csv = false, tensorboard = false, tensorboard_histograms = false;
  bool print_learning_rate = false, terminate_on_nan = false;
  EarlyStoppingSpec early_stopping;
  ProfileSpec profile;
};

struct MetricsSpec {
  int64_t every_steps = 50;
  int64_t skip_steps = 10;
  std::optional<int64_t> inspect_step;  // nullopt: none
  bool noise_scale = false;             // measure it
};

struct NetworkSpec {
  std::optional<std::string> interface;  // nullopt: auto, loopback or the one on the route to the first host
  std::optional<int64_t> port;           // nullopt: auto
  double rendezvous_timeout_seconds = 60;
};

// Something that is done after some steps.
struct EverySteps {
  std::optional<int64_t> every_steps;  // nullopt: never
};

// What to do when a process of the job dies.
struct RestartsSpec {
  std::optional<int64_t> max;  // in a row without a new checkpoint; nullopt: auto, 3 if any are saved
  double backoff_seconds = 1;
  std::optional<int64_t> min_replicas;  // nullopt: all replicas
};

struct CompareSpec {
  std::string baseline = "none";
};

struct JobSpec {
  std::string name = "job";
  int64_t seed = 42;
  std::vector<std::string> plugins;          // libraries
  std::vector<std::string> plugin_versions;  // the name and version of each
  std::vector<std::string> hosts;            // empty: this host, or those of a launcher
  NetworkSpec network;
  StrategySpec strategy;
  CudaSpec cuda;
  DataSpec data;
  BatchSpec batch;
  ModelSpec model;
  TrainSpec train;
  std::vector<PhaseSpec> phases;  // empty: one, of train.epochs, with train.schedule
  EvaluateSpec evaluate;
  CheckpointSpec checkpoint;
  EverySteps checks = {200};  // whether variables have the values that updates gave them (docs/strategies.md)
  EverySteps receipts;        // hashes of what a step computed
  RestartsSpec restarts;
  CallbacksSpec callbacks;
  MetricsSpec metrics;
  CompareSpec compare;

  // Whether XLA computes the steps of GPUs (train.step), and whether one process drives all by a plugin.
  bool uses_xla() const { return train.step == "xla"; }
  bool uses_plugin() const { return uses_xla() || strategy_traits(strategy.kind).one_process; }
};

}  // namespace dtrain
