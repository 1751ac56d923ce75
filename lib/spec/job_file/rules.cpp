#include "job_file/rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "core/addresses.h"
#include "core/text.h"
#include "spec/augment_kinds.h"
#include "spec/fields.h"
#include "spec/schedule_kinds.h"
#include "traits/models.h"
#include "traits/strategies.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

constexpr int64_t kMaxGlobalBatch = 1'000'000'000;
constexpr int64_t kMaxExampleValues = int64_t{1} << 24;

class Rules : private RuleBase {
 public:
  explicit Rules(const RuleBase& base) : RuleBase(base) {}

  void check() {
    check_conditions(job_fields(), spec_, "");
    check_entries("model.layers", spec_.model.layers);
    check_entries("model.head", spec_.model.head);
    check_entries("data.augment", spec_.data.augment);
    check_entries("phases", spec_.phases);
    check_entries("train.optimizers", spec_.train.optimizers);
    check_batch();
    check_strategy();
    check_model();
    check_devices();
    check_hosts();
    check_data();
    check_augment();
    check_checkpoint();
    const CallbacksSpec& callbacks = spec_.callbacks;
    refuse(
        "callbacks.tensorboard_histograms",
        callbacks.tensorboard_histograms && !callbacks.tensorboard && !has_problem("callbacks.tensorboard"),
        "needs callbacks.tensorboard: true");
  }

 private:
  // A list names the devices, and therefore also sets the number of replicas.
  bool lists_devices() const { return is_written("strategy.devices[0]") && !has_problem("strategy.devices"); }

  template <class Entry>
  void check_entries(const std::string& path, const std::vector<Entry>& entries) {
    for (size_t i = 0; i < entries.size(); ++i)
      check_conditions(entry_list<Entry>().fields, entries[i], fmt::format("{}[{}]", path, i));
  }

  // Reports fields that are written but do not apply, and required fields that are missing.
  template <class Spec>
  void check_conditions(const Fields<Spec>& fields, const Spec& spec, const std::string& base) {
    for (const Field<Spec>& field : fields) {
      const std::string path = path_in(base, field.path);
      const bool unclear = std::ranges::any_of(field.when.paths, [&](const std::string& selector) {
        return has_problem(path_in(base, selector)) || to_json(*find_field(fields, selector), spec) == "";
      });
      if (unclear || has_problem(base)) continue;
      const bool holds = applies(fields, field, spec);
      if (!holds && is_written(path)) add(path, does_not_apply(fields, field, spec));
      if (holds && field.required && !is_written(path) && !has_problem(path)) add(path, missing(field, spec));
      if (holds && field.is_range && usable(path)) check_range(path, to_json(field, spec));
    }
  }

  void check_range(const std::string& path, const nlohmann::ordered_json& range) {
    if (!range.is_array() || range.front() <= range.back()) return;
    add(path, "begins with {} and ends with {}; write the lesser number first", number_text(range.front()),
        number_text(range.back()));
  }

  std::string does_not_apply(const Fields<JobSpec>& fields, const FieldInfo& field,
                             const JobSpec& spec) const {
    if (field.without_phases && !spec.phases.empty())
      return "each of the phases has its own; write it there, and leave it out here";
    const std::string& selector = field.when.paths.front();
    return fmt::format("applies only when {}; here {} is {}", condition_text(field.when), selector,
                       to_json(*find_field(fields, selector), spec).get<std::string>());
  }
  // "dense layers", "schedule: cosine phases"
  template <class Entry>
  static std::string entries_like(const Entry& entry) {
    const EntryList<Entry>& list = entry_list<Entry>();
    const std::string by = list.selector == "kind" ? "" : list.selector + ": ";
    return by + list.kind_of(entry) + " " + list.many;
  }
  template <class Entry>
  std::string does_not_apply(const Fields<Entry>&, const FieldInfo&, const Entry& entry) const {
    const EntryList<Entry>& list = entry_list<Entry>();
    return fmt::format("{} do not use it; they use: {}", entries_like(entry),
                       join(list.fields_of_kind(list.kind_of(entry))));
  }
  std::string missing(const FieldInfo& field, const JobSpec&) const {
    return fmt::format("missing; it is required when {}", condition_text(field.when));
  }
  template <class Entry>
  std::string missing(const FieldInfo& field, const Entry& entry) const {
    const EntryList<Entry>& list = entry_list<Entry>();
    if (field.path == "kind") return "missing; known kinds: " + join(list.kinds.built);
    return fmt::format("missing; {} need it", entries_like(entry));
  }

  void check_batch() {
    const BatchSpec& batch = spec_.batch;
    const bool both = is_written("batch.per_replica") && is_written("batch.global");
    const bool is_auto = batch.per_replica == kLargestThatFits;
    if (both && is_written("batch.accumulate_steps"))
      add("batch.accumulate_steps",
          "follows from batch.global and batch.per_replica: leave it or one of them out");
    refuse("batch.per_replica", is_auto && !both,
           "auto needs batch.global, which stays as it is however many examples fit");
    refuse("batch.per_replica", is_auto && !spec_.hosts.empty(),
           "auto measures one host; write a number for a job of several");
    if (!is_written("batch.per_replica") && !is_written("batch.global")) {
      if (!has_problem("batch"))
        add("batch", "missing; give batch.per_replica or batch.global, such as per_replica: 64");
      return;
    }
    if (has_problem("batch.accumulate_steps") || has_problem("strategy.replicas") ||
        has_problem("strategy.workers"))
      return;
    const int64_t one_each = spec_.strategy.replicas.value_or(lists_devices() ? devices() : 1);
    const int64_t replicas =
        is_served() ? spec_.strategy.workers : spec_.strategy.virtual_replicas.value_or(one_each);
    const int64_t accumulated = batch.accumulate_steps.value_or(1);
    const int64_t parts = replicas * accumulated;
    refuse("batch.global", batch.global.value_or(0) % parts != 0,
           "{} is not a multiple of {}, the replicas times accumulate_steps; or use batch.per_replica",
           batch.global.value_or(0), parts);
    refuse("batch.per_replica", !both && batch.per_replica.value_or(0) * parts > kMaxGlobalBatch,
           "makes a global batch of {} x {} replicas x {} accumulated; at most {}",
           batch.per_replica.value_or(0), replicas, accumulated, kMaxGlobalBatch);
  }

  // Whether the strategy is known and has this trait, or has it not.
  bool strategy_is(bool StrategyTraits::*trait, bool has_it = true) const {
    return !has_problem("strategy.kind") && strategy_traits(spec_.strategy.kind).*trait == has_it;
  }
  bool is_served() const { return strategy_is(&StrategyTraits::is_synchronous, false); }
  int64_t devices() const { return std::ssize(spec_.strategy.devices); }

  void check_strategy() {
    const StrategySpec& strategy = spec_.strategy;
    refuse("receipts.every_steps", spec_.receipts.every_steps && spec_.uses_xla(),
           "train.step: xla shows nothing of a step but its end; leave it or train.step out");
    if (strategy_is(&StrategyTraits::has_one_replica)) {
      refuse("strategy.replicas", strategy.replicas.value_or(1) > 1,
             "{} trains one replica, not {}; use strategy.kind mirrored", strategy.kind,
             strategy.replicas.value_or(1));
      if (lists_devices() && devices() > 1)
        add("strategy.devices", "{} takes one device, not {}; use strategy.kind mirrored", strategy.kind,
            devices());
      refuse("compare.baseline", spec_.compare.baseline == "one_device",
             "would compare one_device with itself; leave it out, or use strategy.kind mirrored");
      return;
    }
    refuse("strategy.communication",
           strategy.communication == "gloo" && strategy_is(&StrategyTraits::shares_variables),
           "{} keeps the variables in shared memory, which gloo does not have; use auto", strategy.kind);
    if (is_served()) return check_servers();
    refuse("strategy.compress",
           strategy.compress != "none" && strategy.communication != "gloo" &&
               !has_problem("strategy.communication") && strategy_is(&StrategyTraits::spans_hosts, false),
           "gradients do not travel in shared memory; leave it out, or use communication: gloo");
    if (lists_devices() && usable("strategy.replicas") && strategy.replicas.value_or(devices()) != devices())
      add("strategy.devices", "lists {} for {}; the numbers must agree", counted(devices(), "device"),
          counted(*strategy.replicas, "replica"));
  }

  void check_model() {
    const ModelSpec& model = spec_.model;
    if (!has_problem("model.kind")) {
      const std::vector<int64_t>& known = model_traits(model.kind).depths;
      refuse("model.depth",
             !known.empty() && std::ranges::find(known, model.depth.value_or(0)) == known.end(),
             "there is no {} of {} layers; use one of {}", model.kind, model.depth.value_or(0),
             fmt::join(known, ", "));
    }
    check_widening();
    refuse("train.sync_batch_norm", model.is_program() && spec_.train.sync_batch_norm,
           "changes what dtrain's own batch_norm computes, and a {} model has PyTorch's; leave it out",
           model.kind);
    refuse(
        "model.head", !model.head.empty() && model.include_top,
        "takes the place of the network's own last layers, and model.include_top is true; add include_top: "
        "false, or leave it out");
  }

  // A wide_resnet is one of two designs, by its depth, and each has fields of its own.
  void check_widening() {
    const ModelSpec& model = spec_.model;
    if (has_problem("model.kind") || has_problem("model.depth")) return;
    const ModelTraits& traits = model_traits(model.kind);
    if (traits.widened_depths.empty()) return;
    const int64_t depth = model.depth.value_or(traits.usual_depth);
    const bool widens = traits.widens(depth);
    refuse(
        "model.widen_factor", !widens,
        "is for a {} of {} layers, and model.depth is {}; leave it out, or set model.depth to one of these",
        model.kind, fmt::join(traits.widened_depths, ", "), depth);
    const ModelSpec usual;  // these are printed with every spec, and mean nothing then
    for (const auto& [field, differs] :
         {std::pair("model.stem", model.stem != usual.stem),
          std::pair("model.bottleneck_stride", model.bottleneck_stride != usual.bottleneck_stride)})
      refuse(field, widens && differs,
             "a {} of {} layers has neither a stem of another kind nor bottlenecks; leave it out, or set "
             "model.depth to 50 or more",
             model.kind, depth);
  }

  void check_devices() {
    const StrategySpec& strategy = spec_.strategy;
    if (!usable("strategy.devices")) return;
    const auto is_gpu = [](const std::string& device) { return device.starts_with("cuda"); };
    const auto gpus = std::ranges::count_if(strategy.devices, is_gpu);
    if (gpus == 0) return;
    if (gpus < devices())
      add("strategy.devices", "mixes the CPU and GPUs; the replicas of a job run on devices of one kind");
    if (strategy_is(&StrategyTraits::runs_on_gpus, false))
      add("strategy.devices",
          "{} keeps its variables in the host's memory and trains on the CPU; use cpu, or strategy.kind "
          "mirrored",
          strategy.kind);
    refuse("strategy.communication", strategy.communication == "shared_memory",
           "shared_memory joins replicas on the CPU; between GPUs use auto or nccl");
  }

  void check_hosts() {
    if (!usable("hosts")) return;
    const std::vector<std::string>& hosts = spec_.hosts;
    const int64_t count = std::ssize(hosts);
    for (auto host = hosts.begin(); host != hosts.end(); ++host) {
      if (std::find(hosts.begin(), host, *host) != host)
        add(fmt::format("hosts[{}]", host - hosts.begin()), "{} is listed twice", *host);
    }
    if (count < 2) return;
    if (is_served()) return check_hosts_of_servers();
    if (!has_problem("strategy.kind")) check_spans_hosts(loaded_, fmt::format("hosts lists {}", count));
    if (has_problem("strategy.replicas") || has_problem("strategy.devices")) return;
    check_even_share(loaded_, spec_.strategy.replicas.value_or(lists_devices() ? devices() : count), count);
  }

  void check_hosts_of_servers() {
    if (has_problem("strategy.workers") || has_problem("strategy.servers")) return;
    const int64_t processes = spec_.strategy.workers + spec_.strategy.servers;
    if (processes < std::ssize(spec_.hosts))
      add("hosts", "lists {} for {} processes, workers and servers together; each needs one",
          spec_.hosts.size(), processes);
  }

  void check_servers() {
    const StrategySpec& strategy = spec_.strategy;
    check_without_servers();
    if (!usable("strategy.workers")) return;
    if (lists_devices() && devices() != strategy.workers)
      add("strategy.devices", "lists {} for {}; the numbers must agree", counted(devices(), "device"),
          counted(strategy.workers, "worker"));
    refuse("strategy.max_staleness", strategy.max_staleness.value_or(strategy.workers) < strategy.workers - 1,
           "{} is less than the staleness that {} equally fast workers cause; use at least {}, or none",
           strategy.max_staleness.value_or(0), strategy.workers, strategy.workers - 1);
  }

  // Features in which replicas decide together after the same step. The workers of parameter_server never do.
  void check_without_servers() {
    const TrainSpec& train = spec_.train;
    refuse("metrics.inspect_step", spec_.metrics.inspect_step.has_value(),
           "compares replicas in the same step; the workers of parameter_server are in different ones");
    refuse("callbacks.tensorboard_histograms", spec_.callbacks.tensorboard_histograms,
           "shows the gradient that replicas sum; the workers of parameter_server sum none");
    refuse(
        "train.precision", train.precision == "fp16_mixed",
        "fp16_mixed scales the loss for updates that all replicas make or skip together, which the workers "
        "of parameter_server do not; use bf16_mixed");
    refuse("train.ema.decay", train.ema.decay > 0,
           "averages the weights after each update, which no worker of parameter_server sees; leave it out");
    refuse("train.sync_batch_norm", train.sync_batch_norm,
           "joins the batches of replicas in the same step; the workers of parameter_server are in different "
           "ones");
    refuse("callbacks.early_stopping.metric", spec_.callbacks.early_stopping.metric.has_value(),
           "would end the training of one worker only; parameter_server does not have it");
    const auto check_schedule = [this](const std::string& path, const ScheduleSpec& schedule) {
      refuse(path, schedule_uses(schedule.kind, "metric"),
             "{} goes by evaluations, which only worker 0 of parameter_server sees; use another",
             schedule.kind);
    };
    check_schedule("train.schedule.kind", train.schedule);
    for (size_t i = 0; i < spec_.phases.size(); ++i)
      check_schedule(fmt::format("phases[{}].schedule", i), spec_.phases[i].schedule);
  }

  void check_data() {
    const DataSpec& data = spec_.data;
    const std::string fallback = data.fallback.value_or("");
    refuse("data.fallback", fallback == "arrays" || has_columns(fallback),
           "{} has no usual folder; use synthetic", fallback);
    if (!has_problem("data.dataset")) {
      const bool is_synthetic = data.dataset == "synthetic";
      refuse("data.fallback", data.fallback && is_synthetic,
             "is never used: a synthetic dataset has no files that could be missing");
      refuse("data.fallback", fallback == data.dataset && !is_synthetic, "is the same as data.dataset, {}",
             data.dataset);
    }
    check_pictures();
    refuse_large("data.shape", "an image", data.shape);
  }

  void refuse_large(const char* path, const char* what, const std::vector<int64_t>& shape) {
    const int64_t values = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    refuse(path, values > kMaxExampleValues, "{} of {} values; at most {}", what, with_separators(values),
           with_separators(kMaxExampleValues));
  }

  void check_pictures() {
    const DataSpec& data = spec_.data;
    const ImageSpec& image = data.image;
    const auto needs_path = [](const std::string& dataset) {
      return is_picture_dataset(dataset) || dataset == "idx";
    };
    if (!has_problem("data.dataset") && needs_path(data.dataset) && !is_written("data.path") &&
        !has_problem("data.path"))
      add("data.path", "missing; {} has no usual folder", data.dataset);
    const bool elsewhere = data.path && is_address(*data.path);
    refuse("data.path",
           elsewhere && usable("data.path") && data.dataset != "arrays" && !has_columns(data.dataset) &&
               (data.dataset == "image_folder" || !needs_path(data.dataset)),
           "is an address, which data.dataset: {} cannot have; idx, tar, image_parquet, arrays, csv and "
           "parquet can",
           data.dataset);
    refuse("data.stream", data.stream && data.dataset == "tar" && !elsewhere && usable("data.path"),
           "is for archives at an address; leave it out: those on this host are read where they are");
    refuse(
        "data.on_bad_example", data.stream && data.dataset == "tar" && data.on_bad_example == "skip",
        "reads all pictures before the job begins, and data.stream only those that a batch needs; skip them "
        "when you pack: `dtrain data pack`");
    refuse("data.fallback", elsewhere && data.fallback,
           "data.path is an address, whose files are there or an error; leave this out");
    refuse("data.fallback", needs_path(data.fallback.value_or("")),
           "{} has no usual folder to look in; use another dataset", data.fallback.value_or(""));
    refuse("data.image.channels", image.channels == 2,
           "pictures have 1 channel (grey) or 3 (red, green, blue)");
    if (image.size.size() == 2 && !has_problem("data.image.channels"))
      refuse_large("data.image.size", "a picture", {image.size[0], image.size[1], image.channels});
    const bool is_uncached =
        (usable("data.cache") && data.cache == "none") || (data.stream && data.cache == "auto");
    refuse("cuda.data", spec_.cuda.data == "resident" && is_uncached,
           "resident examples have to be decoded before; use data.cache: disk or memory");
    refuse("data.image.mean", data.mean != 0 && usable("data.mean"),
           "says what data.mean says; write one of them");
    refuse("data.image.standard_deviation", data.standard_deviation != 1 && usable("data.standard_deviation"),
           "says what data.standard_deviation says; write one of them");
    refuse("data.shuffle", !data.shuffle && usable("data.sampling") && data.sampling == "balanced",
           "data.sampling: balanced draws the examples in a random order; leave this out");
  }

  void check_augment() {
    const std::vector<AugmentSpec>& operations = spec_.data.augment;
    for (size_t i = 0; i < operations.size(); ++i) {
      const AugmentSpec& operation = operations[i];
      const std::string base = fmt::format("data.augment[{}]", i);
      if (operation.kind.empty()) continue;
      check_own(base, augment_kind(operation.kind).contradictions, operation.own);
      if (i > 0 && operations[i - 1].mixes() && !operation.mixes())
        add(base, "{} is done to single pictures; write it before {}", operation.kind,
            operations[i - 1].kind);
    }
    refuse("cuda.data", spec_.cuda.data == "resident" && usable("data.augment") && !operations.empty(),
           "resident examples stay as they are, and data.augment changes them; leave this out");
  }

  void check_checkpoint() {
    const CheckpointSpec& checkpoint = spec_.checkpoint;
    const std::vector<std::pair<std::string, std::optional<int64_t>>> intervals = {
        {"checkpoint.every_epochs", checkpoint.every_epochs},
        {"checkpoint.every_steps", checkpoint.every_steps},
        {"checkpoint.every_minutes", checkpoint.every_minutes}};
    std::string first;
    for (const auto& [path, interval] : intervals) {
      if (interval && !first.empty()) add(path, "give {} or this, not both", first);
      if (interval && first.empty()) first = path;
    }
  }
};

}  // namespace

RuleBase::RuleBase(LoadedSpec& loaded) : loaded_(loaded), spec_(loaded.spec) {
  for (const Problem& problem : loaded.problems) faulty_.push_back(problem.path);
}

bool RuleBase::has_problem(const std::string& path) const {
  const auto within = [](const std::string& inner, const std::string& outer) {
    return !outer.empty() && inner.compare(0, outer.size(), outer) == 0 &&
           (inner.size() == outer.size() || inner[outer.size()] == '.' || inner[outer.size()] == '[');
  };
  return std::ranges::any_of(faulty_, [&](const std::string& faulty) {
    return within(path, faulty) || (faulty.find('[') != std::string::npos && within(faulty, path));
  });
}

bool RuleBase::any_faulty_in(const std::string& section) const {
  return std::ranges::any_of(faulty_,
                             [&](const std::string& path) { return path.rfind(section + ".", 0) == 0; });
}

void RuleBase::check_own(const std::string& section, Contradictions contradictions, const KindFields& own) {
  if (contradictions == nullptr) return;
  for (const Contradiction& found : contradictions(own)) {
    const std::string path = found.field.empty() ? section : path_in(section, found.field);
    if (usable(path) && !has_problem(path_in(section, found.other))) add(path, found.text);
  }
}

void check_spans_hosts(LoadedSpec& loaded, const std::string& known) {
  const StrategySpec& strategy = loaded.spec.strategy;
  const StrategyTraits& traits = strategy_traits(strategy.kind);
  if (!traits.is_synchronous) return;
  if (loaded.spec.uses_xla())
    loaded.refuse("train.step",
                  "xla drives the GPUs of one host, but {}; leave it out, and use strategy.kind "
                  "multi_worker_mirrored",
                  known);
  else if (!traits.spans_hosts)
    loaded.refuse(loaded.positions.contains("hosts") ? "hosts" : "strategy.kind",
                  "{} trains on one host, but {}; use multi_worker_mirrored", strategy.kind, known);
  if (strategy.communication == "shared_memory")
    loaded.refuse("strategy.communication",
                  "shared_memory joins the replicas of one host, but {}; use gloo, or auto", known);
}

void check_even_share(LoadedSpec& loaded, int64_t replicas, int64_t hosts) {
  if (replicas % hosts == 0) return;
  const bool listed = loaded.positions.contains("strategy.devices[0]");
  loaded.refuse(listed ? "strategy.devices" : "strategy.replicas",
                "is {}, which {} hosts cannot share evenly", replicas, hosts);
}

void check_rules(LoadedSpec& loaded) {
  const RuleBase base(loaded);
  Rules(base).check();
  check_columns_and_parts(base);
  check_training(base);
  check_strategies(base);
}

}  // namespace dtrain
