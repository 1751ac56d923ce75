#include "plugins/load_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <list>
#include <map>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
#include "core/version.h"
#include "models/layer_kinds.h"
#include "optim/weight_average.h"
#include "plugins/plugin_kinds.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

bool is_name(const std::string& text) {
  static const Pattern name("[a-z][a-z0-9_]{0,63}");
  return name.match(text).has_value();
}

// What is known of the fields of one sort of kinds.
struct Section {
  std::string noun;
  std::string path;  // of the section; empty: entries of a list
  const Choices& kinds;
};

Section section_of(AddedKind::What what) {
  switch (what) {
    case AddedKind::kModel:
      return {"model", "model", model_kinds()};
    case AddedKind::kLayer:
      return {"layer", "", layer_kinds()};
    case AddedKind::kLoss:
      return {"loss", "train.loss", loss_kinds()};
    default:
      return {"optimizer", "train.optimizer", optimizer_kinds()};
  }
}

// Why `field` cannot be of a kind beside a field of this name that a spec has already; empty if it can.
template <class Known>
std::string clash(const FieldInfo& field, size_t type, const Known& known, const std::string& selector) {
  const auto names = [](const FieldInfo& info) {
    return info.choices ? info.choices->built : std::vector<std::string>();
  };
  if (known.when.paths != std::vector{selector}) return "dtrain has a field of this name";
  if (known.member.index() == type && names(known) == names(field) && known.required == field.required &&
      bounds_text(known.bounds) == bounds_text(field.bounds))
    return "";
  return fmt::format("{} {} a field of this name with another type, other bounds or other choices",
                     join(known.when.values), known.when.values.size() == 1 ? "has" : "have");
}

// The same of all that a spec has.
std::string clash(AddedKind::What what, const Field<KindFields>& field) {
  if (what == AddedKind::kLayer) {
    const auto* const known = find_field(entry_list<LayerSpec>().fields, field.path);
    return known ? clash(field, field.member.index(), *known, "kind") : "";
  }
  const std::string section = section_of(what).path;
  const auto* const known = find_field(job_fields(), path_in(section, field.path));
  if (known == nullptr)
    return names_in_section(path_in(section, field.path)).empty() ? "" : "it is a section";
  const auto& added = added_kinds(what);
  const bool is_shipped = std::ranges::none_of(
      added, [&](const AddedKind& kind) { return find_field(kind.fields, field.path) != nullptr; });
  if (what == AddedKind::kModel && is_shipped) return "dtrain has a field of this name";
  return clash(field, field.member.index(), *known, path_in(section, "kind"));
}

// What is wrong with the value that stands where a spec gives none; empty: nothing.
std::string default_problem(const OptionInfo& option) {
  const Bounds bounds = {option.minimum, option.maximum};
  if (option.minimum && option.maximum && *option.minimum > *option.maximum)
    return "its minimum is above its maximum";
  const auto fits = [&](double number) { return std::isfinite(number) && bounds.contain(number); };
  bool good = true;
  if (const auto* text = std::get_if<std::string>(&option.otherwise)) {
    const bool known = option.choices.empty() || std::ranges::count(option.choices, *text) > 0;
    good = known && !text->empty() && *text == printable(*text, text->size());
  } else if (const auto* integer = std::get_if<int64_t>(&option.otherwise)) {
    good = fits(static_cast<double>(*integer));
  } else if (const auto* number = std::get_if<double>(&option.otherwise)) {
    good = fits(*number);
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&option.otherwise)) {
    good = std::ranges::all_of(*integers, [&](int64_t each) { return fits(static_cast<double>(each)); });
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&option.otherwise)) {
    good = std::ranges::all_of(*numbers, fits);
  }
  return good
             ? ""
             : "a spec could not give the value that stands where none is given: it is empty, not printable, "
               "outside of the bounds, or none of the choices";
}

// Of what an optimizer remembers, and of a step's metrics: throws Error(kUsage) if one is no name, is there
// twice, or is `taken`: means something else in checkpoints or events.
void require_names(const std::vector<std::string>& names, const std::string& noun,
                   const std::vector<std::string>& taken) {
  for (const std::string& name : names) {
    if (!is_name(name) || std::ranges::count(names, name) > 1 || std::ranges::count(taken, name) > 0)
      throw Error(ExitCode::kUsage,
                  "the {} '{}' is there twice, means something else in dtrain, or has other signs than small "
                  "letters, digits and '_'; choose another name",
                  noun, printable(name, 60));
  }
}

// Throws Error(kUsage) if there is a kind of this name, if one of its fields cannot be beside those of other
// kinds in a spec, or if a spec could not have the value of `options` that stands where none is given.
void require_fitting(AddedKind::What what, const AddedKind& kind, const std::vector<OptionInfo>& options) {
  const Section section = section_of(what);
  if (!is_name(kind.name))
    throw Error(ExitCode::kUsage,
                "{} '{}': a name has up to 64 small letters, digits and '_', the first a letter",
                section.noun, printable(kind.name, 60));
  const bool is_layer = what == AddedKind::kLayer && find_layer_kind(kind.name) != nullptr;
  if (is_layer || std::ranges::count(section.kinds.built, kind.name) > 0)
    throw Error(ExitCode::kUsage, "there is a {} '{}' already; choose another name", section.noun, kind.name);
  for (const Field<KindFields>& field : kind.fields) {
    std::string problem = clash(what, field);
    if (!is_name(field.path))
      problem = "a name has up to 64 small letters, digits and '_', the first a letter";
    if (std::ranges::count(kind.fields, field.path, &Field<KindFields>::path) > 1)
      problem = "it is there twice";
    for (const OptionInfo& option : options) {
      if (option.name == field.path && problem.empty()) problem = default_problem(option);
    }
    if (!problem.empty())
      throw Error(ExitCode::kUsage, "{} '{}', field '{}': {}", section.noun, kind.name,
                  printable(field.path, 60), problem);
  }
}

void require_metric_names(const std::vector<std::string>& names) {
  // The metrics of dtrain's own losses, and what else is beside metrics in an event (docs/metrics.md).
  std::vector<std::string> taken = {
      "event",         "time",          "run",     "phase",    "epoch",
      "epochs",        "step",          "steps",   "examples", "seconds",
      "learning_rate", "gradient_norm", "step_ms", "none",     "examples_per_second",
      "correct"};
  for (const std::string& objective : objective_names()) {
    if (objective_info(objective).is_step) continue;
    for (const MetricInfo& metric : objective_info(objective).all_metrics()) taken.push_back(metric.name);
  }
  require_names(names, "metric", taken);
}

FieldInfo info_of(const OptionInfo& option, const Choices* choices) {
  const bool is_list = std::holds_alternative<std::vector<int64_t>>(option.otherwise) ||
                       std::holds_alternative<std::vector<double>>(option.otherwise);
  return {.path = option.name,
          .doc = option.doc,
          .bounds = {option.minimum, option.maximum},
          .choices = choices,
          .length = {0, is_list ? size_t{100'000} : size_t{0}}};
}

class Adding final : public Registry {
 public:
  explicit Adding(std::string plugin) : plugin_(std::move(plugin)) {}

  void model(const std::string& name, const std::vector<OptionInfo>& fields,
             const MakeModule& make) override {
    add(AddedKind::kModel, plugin_kinds().models, "model", name, fields, make);
    add_model(name);
  }
  void layer(const std::string& name, const std::vector<OptionInfo>& fields,
             const MakeModule& make) override {
    add(AddedKind::kLayer, plugin_kinds().layers, "layer", name, fields, make);
    add_plugin_layer(name);
  }
  void loss(const std::string& name, const std::vector<OptionInfo>& fields, LossOf of,
            const ComputeLosses& compute) override {
    if (!compute) throw Error(ExitCode::kUsage, "loss '{}' has no function", name);
    add(AddedKind::kLoss, plugin_kinds().losses, "loss", name, fields, PluginLoss{of, compute});
    add_plugin_loss(name);
  }
  void optimizer(const std::string& name, const std::vector<OptionInfo>& fields,
                 const std::vector<std::string>& memory, const UpdateParameters& update) override {
    require_names(memory, "memory", {WeightAverage::kMemory});
    if (!update) throw Error(ExitCode::kUsage, "optimizer '{}' has no function", name);
    add(AddedKind::kOptimizer, plugin_kinds().optimizers, "optimizer", name, fields,
        PluginOptimizer{memory, update});
    add_plugin_optimizer(name);
  }
  void step(const std::string& name, const std::vector<OptionInfo>& fields,
            const std::vector<std::string>& metrics, const MakeStep& make) override {
    require_metric_names(metrics);
    add(AddedKind::kLoss, plugin_kinds().steps, "step", name, fields, make);
    add_plugin_step(name, metrics);
  }

 private:
  template <class Call>
  void add(AddedKind::What what, std::map<std::string, PluginKind<Call>>& kinds, const char* noun,
           const std::string& name, const std::vector<OptionInfo>& options, const Call& call) {
    PluginKind<Call> kind = {plugin_, fmt::format("{} '{}'", noun, name), {}, call};
    AddedKind added = {name};
    for (const OptionInfo& option : options) {
      kind.usual[option.name] = option.otherwise;
      const Choices* choices = nullptr;
      if (!option.choices.empty()) choices = &choices_.emplace_back(Choices{option.name, option.choices});
      added.fields.push_back(option_field(info_of(option, choices), option.otherwise));
    }
    require_fitting(what, added, options);
    add_kind(what, added);
    kinds.emplace(name, std::move(kind));
  }

  static inline std::list<Choices> choices_;  // that fields point to
  std::string plugin_;
};

const PluginDescription& described(void* library) {
  const auto* const description = static_cast<const PluginDescription*>(dlsym(library, "dtrain_plugin"));
  if (description == nullptr)
    throw Error(ExitCode::kUsage, "it is no plug-in of dtrain: it has no DTRAIN_PLUGIN");
  if (description->interface != DTRAIN_PLUGIN_INTERFACE)
    throw Error(
        ExitCode::kUsage,
        "it was built for version {} of the interface of plug-ins, and dtrain {} has version {}; build "
        "it against the headers of this dtrain",
        description->interface, kVersion, DTRAIN_PLUGIN_INTERFACE);
  if (std::string(description->libtorch) != TORCH_VERSION)
    throw Error(ExitCode::kUsage,
                "it was built with LibTorch {}, and this dtrain has {}; build it with the same",
                description->libtorch, TORCH_VERSION);
  return *description;
}

struct LoadedPlugin {
  std::string name, identity;  // "gated", "gated 1.0"
  std::string failure;         // why its kinds could not be added: not all of them are there
};

using LoadedPlugins = std::map<std::string, LoadedPlugin>;  // by the file

LoadedPlugin load(const std::string& path, bool is_of_run, const LoadedPlugins& others) {
  if (!fs::is_regular_file(path))
    throw Error(ExitCode::kUsage, "there is no such file{}",
                is_of_run ? "; if the plug-in is elsewhere now: dtrain --plugin FILE COMMAND ..." : "");
  const PluginCall named(path, "while it is loaded");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ExitCode::kUsage, "cannot be loaded: {}", printable(dlerror(), 2000));
  const PluginDescription& plugin = described(library);
  LoadedPlugin loaded = {plugin.name, fmt::format("{} {}", plugin.name, plugin.version), ""};
  for (const auto& [file, other] : others) {
    if (other.identity == loaded.identity) return other;  // a copy
    if (other.name == loaded.name)
      throw Error(ExitCode::kUsage, "it is {}, and {} is loaded from {}", loaded.identity, other.identity,
                  file);
  }
  note_plugin(plugin.name);
  Adding adding(plugin.name);
  try {
    in_plugin(plugin.name, "adding its kinds", [&] { plugin.add_kinds(adding); });
  } catch (const Error& error) {
    loaded.failure = error.what();
  }
  return loaded;
}

}  // namespace

std::string load_plugin(const std::string& path, const std::string& noted) {
  static LoadedPlugins loaded;
  try {
    if (path.empty()) throw Error(ExitCode::kUsage, "name a file");
    std::error_code none;
    const std::string file = fs::weakly_canonical(path, none);
    auto found = loaded.find(file);
    for (auto other = loaded.begin(); other != loaded.end(); ++other) {
      if (other->second.identity == noted) found = other;
    }
    if (found == loaded.end()) found = loaded.emplace(file, load(file, !noted.empty(), loaded)).first;
    if (!found->second.failure.empty()) throw Error(ExitCode::kUsage, found->second.failure);
    return found->second.identity;
  } catch (const Error& error) {
    throw Error(error.code(), "{}: {}", printable(path, 1000), error.what());
  }
}

}  // namespace dtrain
