#include "plan/phases.h"

#include <c10/util/accumulate.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "architectures/architectures.h"
#include "core/text.h"
#include "host/host_memory.h"
#include "models/layer_kinds.h"
#include "optim/optimizer.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

constexpr int64_t kPartForFeatures = 4;  // one part in so many of the host's memory

// The number of the first layer of the model's head in the plan, where an activation is a layer of its own.
size_t head_of(const ModelSpec& spec) {
  if (spec.is_program()) return SIZE_MAX;  // it has none that is known
  const Architecture model = architecture_of(spec, /*outputs=*/1);
  size_t placed = 0;
  for (size_t i = 0; i < model.head; ++i) placed += activation_of(model.layers[i]) ? 2 : 1;
  return placed;
}

// The model of a job: what its phases choose layers of.
struct PhasedModel {
  const LayerPlan& plan;
  size_t head;

  size_t size() const { return plan.layers.size(); }
  bool names(const std::string& pattern, size_t layer) const {
    if (pattern == "all") return true;
    if (pattern == "head" && head != SIZE_MAX) return layer >= head;
    return ::fnmatch(pattern.c_str(), plan.layers[layer].name.c_str(), 0) == 0;
  }
};

bool is_known(const std::string& name, const PhasedModel& model) {
  for (size_t layer = 0; layer < model.size(); ++layer) {
    if (model.names(name, layer)) return true;
  }
  return false;
}

std::vector<bool> trained_layers(const TrainableSpec& trainable, const PhasedModel& model) {
  const std::vector<PlacedLayer>& layers = model.plan.layers;
  // The whole of a program is none of its layers, unless it has variables itself.
  const bool has_whole = model.plan.program != nullptr && layers.back().parameters == 0;
  const int64_t end = std::ssize(layers) - (has_whole ? 1 : 0);
  std::vector<bool> trained(layers.size(), false);
  for (size_t i = 0; i < layers.size(); ++i) {
    trained[i] = trainable.last_layers ? end - static_cast<int64_t>(i) <= *trainable.last_layers
                                       : std::ranges::any_of(trainable.layers, [&](const std::string& name) {
                                           return model.names(name, i);
                                         });
  }
  return trained;
}

int64_t parameters_of(const std::vector<bool>& trained, const LayerPlan& model) {
  int64_t parameters = 0;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (trained[i]) parameters += model.layers[i].parameters;
  }
  return parameters;
}

// How many layers at the beginning train and draw nothing: the rest sees only the last one's output.
int64_t feature_layers(const std::vector<bool>& trained, const LayerPlan& model) {
  const std::vector<PlacedLayer>& layers = model.layers;
  int64_t count = 0;
  while (count < std::ssize(layers)) {
    const PlacedLayer& next = layers[static_cast<size_t>(count)];
    const auto draws = kind_of(next).draws;
    if ((trained[static_cast<size_t>(count)] && next.parameters > 0) || (draws && draws(next.spec))) break;
    ++count;
  }
  const auto is_only_input = [&](int64_t end) {
    return std::all_of(layers.begin() + end, layers.end(), [end](const PlacedLayer& layer) {
      const bool has_two = kind_of(layer).combine != nullptr;
      return layer.input >= end - 1 && (!has_two || layer.with >= end - 1);
    });
  };
  while (count > 0 && !is_only_input(count)) --count;
  return count;
}

bool computes(const LayerPlan& model, int64_t layers) {
  return std::any_of(model.layers.begin(), model.layers.begin() + layers,
                     [](const PlacedLayer& layer) { return layer.parameters > 0; });
}

// Why the features of a phase that has frozen layers at the beginning are not kept; empty: they are.
std::string reason_not_to_keep(const JobSpec& spec, const PhaseSpec& phase, int64_t bytes) {
  if (phase.cache_features == "none") return "cache_features: none";
  if (!strategy_traits(spec.strategy.kind).is_synchronous)
    return "workers of parameter servers do not wait for each other to compute them";
  if (spec.evaluate.flip || spec.evaluate.zoom < 1)
    return "evaluate.flip and evaluate.zoom show other views of the pictures";
  if (!spec.data.augment.empty()) return "data.augment changes the pictures in every epoch";
  if (spec.train.precision != "float32") return "train.precision: " + spec.train.precision;
  const std::vector<std::string>& devices = spec.strategy.devices;
  if (std::ranges::any_of(devices, [](const std::string& name) { return name != "cpu"; }))
    return "GPUs compute them in every step";
  const int64_t room = memory_for_all() / kPartForFeatures;
  if (bytes > room)
    return fmt::format("they take {}, and a quarter of the memory here is {}", human_bytes(bytes),
                       human_bytes(room));
  return "";
}

// Whether kept features go into a file, and if not, why.
void plan_file(const JobSpec& spec, const PhaseSpec& phase, FeaturePlan& features) {
  if (phase.cache_features == "memory") return;
  const double most = spec.data.cache_gigabytes;
  if (spec.hosts.size() > 1)
    features.no_file = "a host that reads them would wait for another that computes them";
  else if (static_cast<double>(features.bytes) > most * 1e9)
    features.no_file = fmt::format("data.cache_gigabytes allows {:g} GB", most);
  else
    features.file = phase.cache_features == "disk" ? FeatureFile::kAlways : FeatureFile::kIfSlow;
}

FeaturePlan features_of(const JobSpec& spec, const PhaseSpec& phase, const DatasetInfo& data,
                        const LayerPlan& model, const std::vector<bool>& trained) {
  FeaturePlan features;
  const int64_t layers = feature_layers(trained, model);
  if (layers == 0 || !computes(model, layers)) return features;
  const Shape& shape = model.layers[static_cast<size_t>(layers - 1)].output_shape;
  features.numbers = c10::multiply_integers(shape);
  const int64_t examples = data.train_examples + data.validation_examples + data.test_examples;
  const int64_t width = spec.model.dtype == "float64" ? 8 : 4;
  features.bytes = examples * features.numbers * width;
  features.reason = reason_not_to_keep(spec, phase, features.bytes);
  if (!features.reason.empty()) return features;
  features.layers = layers;
  plan_file(spec, phase, features);
  return features;
}

int64_t steps_of_phase(const PhaseSpec& phase, int64_t steps_per_epoch) {
  return phase.steps ? *phase.steps : phase.epochs.value_or(1) * steps_per_epoch;
}

std::string layer_suggestion(const std::string& name, const LayerPlan& model) {
  std::vector<std::string> names = {"head", "all"};
  for (const PlacedLayer& layer : model.layers) {
    if (layer.parameters > 0) names.push_back(layer.name);
  }
  std::erase(names, name);  // a head that the model does not have
  const bool is_part =
      std::ranges::any_of(names, [&](const std::string& known) { return known.starts_with(name + "."); });
  if (is_part) return fmt::format(" that has variables itself; for those within it: {}.*", printable(name));
  const std::string meant = did_you_mean(name, names);
  return meant.empty() ? "; dtrain plan lists the layers" : meant;
}

}  // namespace

int64_t steps_of(const JobSpec& spec, int64_t steps_per_epoch) {
  if (spec.phases.empty()) return spec.train.epochs * steps_per_epoch;
  int64_t steps = 0;
  for (const PhaseSpec& phase : spec.phases) steps += steps_of_phase(phase, steps_per_epoch);
  return steps;
}

void check_optimizers(LoadedSpec& loaded, const LayerPlan& plan) {
  const std::vector<OptimizerEntry>& entries = loaded.spec.train.optimizers;
  if (entries.empty() || !plan.problems.empty()) return;
  std::vector<std::string> names;
  std::vector<bool> is_used(entries.size() + 1, false);
  const auto model = outline_model(plan, dtype_from_name(loaded.spec.model.dtype));
  for (const auto& parameter : model->named_parameters()) {
    names.push_back(parameter.key());
    is_used[optimizer_group_of(loaded.spec.train, parameter.key())] = true;
  }
  constexpr size_t kShown = 8;
  if (names.size() > kShown) names.resize(kShown);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!is_used[i + 1])
      loaded.refuse(
          fmt::format("train.optimizers[{}].parameters", i),
          "no parameter has such a name, or an entry before has all; the first ones of the model: {}",
          join(names));
  }
}

void check_phases(LoadedSpec& loaded, const LayerPlan& model) {
  if (!model.problems.empty() || loaded.spec.phases.empty()) return;
  const PhasedModel phased{model, head_of(loaded.spec.model)};
  for (size_t i = 0; i < loaded.spec.phases.size(); ++i) {
    const TrainableSpec& trainable = loaded.spec.phases[i].trainable;
    const std::string path = fmt::format("phases[{}].trainable", i);
    bool all_known = true;
    for (const std::string& name : trainable.layers) {
      if (trainable.last_layers || is_known(name, phased)) continue;
      loaded.refuse(path, "no layer is named '{}'{}", printable(name), layer_suggestion(name, model));
      all_known = false;
    }
    if (all_known && parameters_of(trained_layers(trainable, phased), model) == 0)
      loaded.refuse(path,
                    "these layers have no parameters to train; dtrain plan lists the layers and their "
                    "parameters");
  }
}

std::vector<PhasePlan> phases_of(const JobSpec& spec, const DatasetInfo& data, const LayerPlan& model,
                                 const RunLength& run) {
  if (spec.phases.empty()) {
    PhasePlan only;
    only.steps = run.total_steps;
    only.learning_rate =
        resolve_learning_rate(spec.train, run.update_batch, {run.steps_per_epoch, run.total_steps});
    only.parameters = model.parameters();
    return {only};
  }
  const PhasedModel phased{model, head_of(spec.model)};
  std::vector<PhasePlan> phases;
  int64_t begin = 0;
  for (size_t i = 0; i < spec.phases.size() && (i == 0 || begin < run.total_steps); ++i) {
    const PhaseSpec& phase = spec.phases[i];
    const int64_t whole = steps_of_phase(phase, run.steps_per_epoch);
    PhasePlan& plan = phases.emplace_back();
    plan.index = static_cast<int64_t>(i);
    plan.name = phase.name.value_or(std::to_string(i + 1));
    plan.first_step = begin;
    plan.steps = std::min(whole, run.total_steps - begin);
    TrainSpec own = spec.train;
    own.optimizer.learning_rate = phase.learning_rate.value_or(own.optimizer.learning_rate);
    own.schedule = phase.schedule;
    plan.learning_rate = resolve_learning_rate(own, run.update_batch, {run.steps_per_epoch, whole});
    plan.layers.each = trained_layers(phase.trainable, phased);
    plan.parameters = parameters_of(plan.layers.each, model);
    plan.features = features_of(spec, phase, data, model, plan.layers.each);
    plan.layers.first = plan.features.layers;
    begin += whole;
  }
  return phases;
}

std::string name_of(FeatureFile file) {
  return file == FeatureFile::kNone ? "none" : file == FeatureFile::kIfSlow ? "if_slow" : "always";
}

std::string phase_title(const std::vector<PhasePlan>& phases, const PhasePlan& phase) {
  const auto number = std::to_string(phase.index + 1);
  const std::string name = phase.name == number ? "" : fmt::format(" ({})", phase.name);
  return fmt::format("phase {} of {}{}", number, phases.size(), name);
}

}  // namespace dtrain
