#include "plugins/load_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <list>
#include <map>

#include "core/text.h"
#include "core/version.h"
#include "plugins/plugin_fields.h"
#include "plugins/plugin_kinds.h"
#include "plugins/plugin_losses.h"
#include "plugins/plugin_models.h"
#include "plugins/plugin_optimizers.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

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
    require_memory_names(memory);
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

LoadedPlugin load(const std::string& path, const LoadedPlugins& others) {
  if (!fs::is_regular_file(path))
    throw Error(ExitCode::kUsage,
                "there is no such file; if the plug-in is elsewhere now: dtrain --plugin FILE COMMAND ...");
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
    if (found == loaded.end()) found = loaded.emplace(file, load(file, loaded)).first;
    if (!found->second.failure.empty()) throw Error(ExitCode::kUsage, found->second.failure);
    return found->second.identity;
  } catch (const Error& error) {
    throw Error(error.code(), "{}: {}", printable(path, 1000), error.what());
  }
}

}  // namespace dtrain
