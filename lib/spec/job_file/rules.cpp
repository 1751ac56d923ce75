#include "job_file/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/text.h"
#include "job_file/plugin_rules.h"
#include "job_file/rule_base.h"
#include "job_file/training_rules.h"
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
  explicit Rules(LoadedSpec& loaded) : RuleBase(loaded) {}

  void check() {
    check_conditions(job_fields(), spec_, "");
    check_entries("model.layers", spec_.model.layers);
    check_entries("model.head", spec_.model.head);
    check_entries("data.augment", spec_.data.augment);
    check_entries("phases", spec_.phases);
    check_batch();
    check_strategy();
    check_model();
    check_devices();
    check_hosts();
    check_data();
    check_augment();
    check_checkpoint();
    check_callbacks();
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
      const bool unclear =
          std::any_of(field.when.paths.begin(), field.when.paths.end(), [&](const std::string& selector) {
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
    add(path, fmt::format("begins with {} and ends with {}; write the lesser number first",
                          number_text(range.front()), number_text(range.back())));
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
  std::string does_not_apply(const Fields<Entry>& fields, const FieldInfo&, const Entry& entry) const {
    const EntryList<Entry>& list = entry_list<Entry>();
    return fmt::format("{} do not use it; they use: {}", entries_like(entry),
                       join(fields_of_kind(fields, list.kind_of(entry))));
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
    const bool is_auto = usable("batch.per_replica") && batch.per_replica == kLargestThatFits;
    if (both && is_written("batch.accumulate_steps"))
      add("batch.accumulate_steps",
          "follows from batch.global and batch.per_replica: leave it or one of them out");
    if (is_auto && !both)
      add("batch.per_replica", "auto needs batch.global, which stays as it is however many examples fit");
    if (is_auto && !spec_.hosts.empty())
      add("batch.per_replica", "auto measures one host; write a number for a job of several");
    if (!is_written("batch.per_replica") && !is_written("batch.global")) {
      if (!has_problem("batch"))
        add("batch", "missing; give batch.per_replica or batch.global, such as per_replica: 64");
      return;
    }
    if (has_problem("batch.accumulate_steps") || has_problem("strategy.replicas") ||
        has_problem("strategy.workers"))
      return;
    const auto devices = static_cast<int64_t>(spec_.strategy.devices.size());
    const bool served = strategy_is([](const StrategyTraits& traits) { return !traits.is_synchronous; });
    const int64_t replicas =
        served ? spec_.strategy.workers : spec_.strategy.replicas.value_or(lists_devices() ? devices : 1);
    const int64_t accumulated = batch.accumulate_steps.value_or(1);
    const int64_t parts = replicas * accumulated;
    if (usable("batch.global") && *batch.global % parts != 0) {
      add("batch.global",
          fmt::format(
              "{} is not a multiple of {}, the replicas times accumulate_steps; or use batch.per_replica",
              *batch.global, parts));
    }
    if (usable("batch.per_replica") && !both && *batch.per_replica * parts > kMaxGlobalBatch) {
      add("batch.per_replica",
          fmt::format("makes a global batch of {} x {} replicas x {} accumulated; at most {}",
                      *batch.per_replica, replicas, accumulated, kMaxGlobalBatch));
    }
  }

  // Whether the strategy is known and `holds` returns true for it.
  bool strategy_is(bool (*holds)(const StrategyTraits& traits)) const {
    return !has_problem("strategy.kind") && holds(strategy_traits(spec_.strategy.kind));
  }

  void check_strategy() {
    const StrategySpec& strategy = spec_.strategy;
    const auto devices = static_cast<int64_t>(strategy.devices.size());
    if (strategy_is([](const StrategyTraits& traits) { return traits.has_one_replica; })) {
      if (usable("strategy.replicas") && strategy.replicas.value_or(1) > 1)
        add("strategy.replicas", fmt::format("{} trains one replica, not {}; use strategy.kind mirrored",
                                             strategy.kind, *strategy.replicas));
      if (lists_devices() && devices > 1)
        add("strategy.devices",
            fmt::format("{} takes one device, not {}; use strategy.kind mirrored", strategy.kind, devices));
      if (usable("compare.baseline") && spec_.compare.baseline == "one_device")
        add("compare.baseline",
            "would compare one_device with itself; leave it out, or use strategy.kind mirrored");
      return;
    }
    if (strategy_is([](const StrategyTraits& traits) { return traits.shares_variables; }) &&
        usable("strategy.communication") && strategy.communication == "gloo")
      add("strategy.communication",
          fmt::format("{} keeps the variables in shared memory, which gloo does not have; use auto",
                      strategy.kind));
    if (strategy_is([](const StrategyTraits& traits) { return !traits.is_synchronous; }))
      return check_servers();
    if (usable("strategy.compress") && strategy.compress != "none" &&
        strategy_is([](const StrategyTraits& traits) { return !traits.spans_hosts; }) &&
        !has_problem("strategy.communication") && strategy.communication != "gloo")
      add("strategy.compress",
          "gradients do not travel in shared memory; leave it out, or use communication: gloo");
    if (lists_devices() && usable("strategy.replicas") && strategy.replicas && *strategy.replicas != devices)
      add("strategy.devices",
          fmt::format("lists {} for {}; the numbers must agree", counted(devices, "device"),
                      counted(*strategy.replicas, "replica")));
  }

  void check_model() {
    const ModelSpec& model = spec_.model;
    if (usable("model.depth") && !has_problem("model.kind")) {
      const std::vector<int64_t>& known = model_traits(model.kind).depths;
      if (!known.empty() && std::find(known.begin(), known.end(), *model.depth) == known.end())
        add("model.depth", fmt::format("there is no {} of {} layers; use one of {}", model.kind, *model.depth,
                                       fmt::join(known, ", ")));
    }
    check_widening();
    if (!model.head.empty() && model.include_top && usable("model.head"))
      add("model.head",
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
    if (!widens && usable("model.widen_factor"))
      add("model.widen_factor",
          fmt::format("is for a {} of {} layers, and model.depth is {}; leave it out, or set "
                      "model.depth to one of these",
                      model.kind, fmt::join(traits.widened_depths, ", "), depth));
    const ModelSpec usual;  // these are printed with every spec, and mean nothing then
    for (const auto& [field, differs] :
         {std::pair("model.stem", model.stem != usual.stem),
          std::pair("model.bottleneck_stride", model.bottleneck_stride != usual.bottleneck_stride)}) {
      if (widens && differs && usable(field))
        add(field,
            fmt::format("a {} of {} layers has neither a stem of another kind nor bottlenecks; leave it "
                        "out, or set model.depth to 50 or more",
                        model.kind, depth));
    }
  }

  void check_devices() {
    const StrategySpec& strategy = spec_.strategy;
    if (!usable("strategy.devices")) return;
    const auto is_gpu = [](const std::string& device) { return device.rfind("cuda", 0) == 0; };
    const auto gpus = std::count_if(strategy.devices.begin(), strategy.devices.end(), is_gpu);
    if (gpus == 0) return;
    if (gpus < std::ssize(strategy.devices))
      add("strategy.devices", "mixes the CPU and GPUs; the replicas of a job run on devices of one kind");
    if (strategy_is([](const StrategyTraits& traits) { return !traits.runs_on_gpus; }))
      add("strategy.devices",
          fmt::format("{} keeps its variables in the host's memory and trains on the CPU; use "
                      "cpu, or strategy.kind mirrored",
                      strategy.kind));
    if (usable("strategy.communication") && strategy.communication == "shared_memory")
      add("strategy.communication", "shared_memory joins replicas on the CPU; between GPUs use auto or nccl");
  }

  void check_hosts() {
    if (!usable("hosts")) return;
    const std::vector<std::string>& hosts = spec_.hosts;
    const auto count = static_cast<int64_t>(hosts.size());
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (std::find(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(i), hosts[i]) !=
          hosts.begin() + static_cast<std::ptrdiff_t>(i))
        add(fmt::format("hosts[{}]", i), fmt::format("{} is listed twice", hosts[i]));
    }
    if (count < 2) return;
    const StrategySpec& strategy = spec_.strategy;
    if (strategy_is([](const StrategyTraits& traits) { return !traits.is_synchronous; }))
      return check_hosts_of_servers();
    if (!has_problem("strategy.kind")) check_spans_hosts(loaded_, fmt::format("hosts lists {}", count));
    if (has_problem("strategy.replicas") || has_problem("strategy.devices")) return;
    const int64_t replicas =
        strategy.replicas.value_or(lists_devices() ? static_cast<int64_t>(strategy.devices.size()) : count);
    check_even_share(loaded_, replicas, count);
  }

  void check_hosts_of_servers() {
    if (has_problem("strategy.workers") || has_problem("strategy.servers")) return;
    const StrategySpec& strategy = spec_.strategy;
    const int64_t processes = strategy.workers + strategy.servers;
    if (processes < std::ssize(spec_.hosts))
      add("hosts", fmt::format("lists {} for {} processes, workers and servers together; each needs one",
                               spec_.hosts.size(), processes));
  }

  void check_servers() {
    const StrategySpec& strategy = spec_.strategy;
    const auto devices = static_cast<int64_t>(strategy.devices.size());
    check_without_servers();
    if (!usable("strategy.workers")) return;
    if (lists_devices() && devices != strategy.workers)
      add("strategy.devices", fmt::format("lists {} for {}; the numbers must agree",
                                          counted(devices, "device"), counted(strategy.workers, "worker")));
    if (usable("strategy.max_staleness") && strategy.max_staleness &&
        *strategy.max_staleness < strategy.workers - 1)
      add("strategy.max_staleness",
          fmt::format(
              "{} is less than the staleness that {} equally fast workers cause; use at least {}, or none",
              *strategy.max_staleness, strategy.workers, strategy.workers - 1));
  }

  // Features in which replicas decide together after the same step. The workers of parameter_server never do.
  void check_without_servers() {
    if (usable("metrics.inspect_step") && spec_.metrics.inspect_step)
      add("metrics.inspect_step",
          "compares replicas in the same step; the workers of parameter_server are in different ones");
    if (usable("callbacks.tensorboard_histograms") && spec_.callbacks.tensorboard_histograms)
      add("callbacks.tensorboard_histograms",
          "shows the gradient that replicas sum; the workers of parameter_server sum none");
    if (usable("train.precision") && spec_.train.precision == "fp16_mixed")
      add("train.precision",
          "fp16_mixed scales the loss for updates that all replicas make or skip together, which the workers "
          "of parameter_server do not; use bf16_mixed");
    if (usable("train.ema.decay") && spec_.train.ema.decay > 0)
      add("train.ema.decay",
          "averages the weights after each update, which no worker of parameter_server sees; leave it out");
    if (usable("train.sync_batch_norm") && spec_.train.sync_batch_norm)
      add("train.sync_batch_norm",
          "joins the batches of replicas in the same step; the workers of parameter_server are in different "
          "ones");
    if (usable("callbacks.early_stopping.metric") && spec_.callbacks.early_stopping.metric)
      add("callbacks.early_stopping.metric",
          "would end the training of one worker only; parameter_server does not have it");
    if (usable("train.schedule.kind") && schedule_uses(spec_.train.schedule.kind, "metric"))
      add("train.schedule.kind",
          spec_.train.schedule.kind +
              " goes by evaluations, which only worker 0 of parameter_server sees; use another");
  }

  void check_data() {
    const DataSpec& data = spec_.data;
    if (usable("data.fallback") && data.fallback && (*data.fallback == "arrays" || *data.fallback == "csv"))
      add("data.fallback", fmt::format("{} has no usual folder; use synthetic", *data.fallback));
    if (usable("data.fallback") && data.fallback && !has_problem("data.dataset")) {
      if (data.dataset == "synthetic") {
        add("data.fallback", "is never used: a synthetic dataset has no files that could be missing");
      } else if (*data.fallback == data.dataset) {
        add("data.fallback", fmt::format("is the same as data.dataset, {}", data.dataset));
      }
    }
    check_pictures();
    check_table();
    if (is_written("data.split") && !is_written("data.split.validation") && !is_written("data.split.test") &&
        !has_problem("data.split") && !any_faulty_in("data.split"))
      add("data.split",
          "keeps no examples without `validation` or `test`, the part to keep, such as 0.1; to keep none: "
          "validation: none");
    if (usable("data.shape")) {
      int64_t values = 1;
      for (const int64_t size : data.shape) values *= size;
      if (values > kMaxExampleValues)
        add("data.shape", fmt::format("an image of {} values; at most {}", with_separators(values),
                                      with_separators(kMaxExampleValues)));
    }
  }

  void check_table() {
    const DataSpec& data = spec_.data;
    const auto named = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (usable("data.columns")) {
      for (const auto& [name, kind] : data.columns) {
        const std::string path = path_in("data.columns", printable(name, 60));
        if (kind == "ignore" && usable("data.target") && named(data.target, name))
          add(path, "leaves out what data.target predicts; remove it from one of them");
        if (kind != "ignore" && usable("data.ignore") && named(data.ignore, name))
          add(path, "says what the column holds, and data.ignore leaves it out; remove it from one of them");
      }
    }
    if (usable("data.ignore") && usable("data.target")) {
      for (const std::string& name : data.target) {
        if (named(data.ignore, name))
          add("data.ignore",
              fmt::format("leaves out '{}', which data.target predicts; remove it from one of them",
                          printable(name, 60)));
      }
    }
    if (usable("data.thousands") && data.thousands == data.decimal && data.decimal != "auto")
      add("data.thousands", "is the decimal sign, too; write another, or none");
  }

  void check_pictures() {
    const DataSpec& data = spec_.data;
    const auto needs_path = [](const std::string& dataset) {
      return dataset == "image_folder" || dataset == "tar" || dataset == "idx";
    };
    if (!has_problem("data.dataset") && needs_path(data.dataset) && !is_written("data.path") &&
        !has_problem("data.path"))
      add("data.path", fmt::format("missing; {} has no usual folder", data.dataset));
    if (usable("data.fallback") && data.fallback && needs_path(*data.fallback))
      add("data.fallback",
          fmt::format("{} has no usual folder to look in; use another dataset", *data.fallback));
    if (usable("data.image.channels") && data.image.channels == 2)
      add("data.image.channels", "pictures have 1 channel (grey) or 3 (red, green, blue)");
    if (usable("data.image.size") && !has_problem("data.image.channels") &&
        data.image.size[0] * data.image.size[1] * data.image.channels > kMaxExampleValues)
      add("data.image.size",
          fmt::format("a picture of {} values; at most {}",
                      with_separators(data.image.size[0] * data.image.size[1] * data.image.channels),
                      with_separators(kMaxExampleValues)));
    if (usable("cuda.data") && spec_.cuda.data == "resident" && usable("data.cache") && data.cache == "none")
      add("cuda.data", "resident examples have to be decoded before; leave out data.cache: none");
    if (usable("data.mean") && data.mean != 0 && usable("data.image.mean"))
      add("data.image.mean", "says what data.mean says; write one of them");
    if (usable("data.standard_deviation") && data.standard_deviation != 1 &&
        usable("data.image.standard_deviation"))
      add("data.image.standard_deviation", "says what data.standard_deviation says; write one of them");
    if (usable("data.sampling") && data.sampling == "balanced" && usable("data.shuffle") && !data.shuffle)
      add("data.shuffle", "data.sampling: balanced draws the examples in a random order; leave this out");
    if (usable("data.split.test") && usable("data.split.validation") &&
        data.split.test.value_or(0) + data.split.validation.value_or(0) >= 1)
      add("data.split.test", "leaves, with data.split.validation, nothing to train on");
  }

  void check_augment() {
    const std::vector<AugmentSpec>& operations = spec_.data.augment;
    for (size_t i = 0; i < operations.size(); ++i) {
      const AugmentSpec& operation = operations[i];
      const std::string base = fmt::format("data.augment[{}]", i);
      if (operation.kind.empty()) continue;
      check_own(base, augment_kind(operation.kind).contradictions, operation.own);
      if (i > 0 && operations[i - 1].mixes() && !operation.mixes())
        add(base, fmt::format("{} is done to single pictures; write it before {}", operation.kind,
                              operations[i - 1].kind));
    }
    if (usable("data.augment") && !spec_.data.augment.empty() && usable("cuda.data") &&
        spec_.cuda.data == "resident")
      add("cuda.data", "resident examples stay as they are, and data.augment changes them; leave this out");
  }

  void check_callbacks() {
    const CallbacksSpec& callbacks = spec_.callbacks;
    if (usable("callbacks.tensorboard_histograms") && callbacks.tensorboard_histograms &&
        !callbacks.tensorboard && !has_problem("callbacks.tensorboard"))
      add("callbacks.tensorboard_histograms", "needs callbacks.tensorboard: true");
  }

  void check_checkpoint() {
    const CheckpointSpec& checkpoint = spec_.checkpoint;
    const std::vector<std::pair<std::string, std::optional<int64_t>>> intervals = {
        {"checkpoint.every_epochs", checkpoint.every_epochs},
        {"checkpoint.every_steps", checkpoint.every_steps},
        {"checkpoint.every_minutes", checkpoint.every_minutes}};
    std::string first;
    for (const auto& [path, interval] : intervals) {
      if (interval && !first.empty()) add(path, fmt::format("give {} or this, not both", first));
      if (interval && first.empty()) first = path;
    }
  }
};

}  // namespace

void check_spans_hosts(LoadedSpec& loaded, const std::string& known) {
  const StrategySpec& strategy = loaded.spec.strategy;
  const StrategyTraits& traits = strategy_traits(strategy.kind);
  if (!traits.is_synchronous) return;
  if (loaded.spec.uses_xla())
    loaded.problems.push_back(loaded.problem_at(
        "train.step", fmt::format("xla drives the GPUs of one host, but {}; leave it out, and use "
                                  "strategy.kind multi_worker_mirrored",
                                  known)));
  else if (!traits.spans_hosts)
    loaded.problems.push_back(loaded.problem_at(
        loaded.positions.contains("hosts") ? "hosts" : "strategy.kind",
        fmt::format("{} trains on one host, but {}; use multi_worker_mirrored", strategy.kind, known)));
  if (strategy.communication == "shared_memory")
    loaded.problems.push_back(loaded.problem_at(
        "strategy.communication",
        fmt::format("shared_memory joins the replicas of one host, but {}; use gloo, or auto", known)));
}

void check_even_share(LoadedSpec& loaded, int64_t replicas, int64_t hosts) {
  if (replicas % hosts == 0) return;
  const bool listed = loaded.positions.contains("strategy.devices[0]");
  loaded.problems.push_back(
      loaded.problem_at(listed ? "strategy.devices" : "strategy.replicas",
                        fmt::format("is {}, which {} hosts cannot share evenly", replicas, hosts)));
}

void check_rules(LoadedSpec& loaded) {
  Rules rules(loaded);
  TrainingRules of_training(loaded);
  PluginRules of_plugins(loaded);
  rules.check();
  of_training.check();
  of_plugins.check();
}

}  // namespace dtrain
