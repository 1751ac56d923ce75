#include "plugins/load_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
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
  return {.path = option.name,
          .doc = option.doc,
          .bounds = {option.minimum, option.maximum},
          .choices = choices,
          .length = {0, 100'000}};
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
    add(AddedKind::kLoss, plugin_kinds().losses, "loss", name, fields, PluginLoss{of, compute});
    add_plugin_loss(name);
  }
  void optimizer(const std::string& name, const std::vector<OptionInfo>& fields,
                 const std::vector<std::string>& memory, const UpdateParameters& update) override {
    add(AddedKind::kOptimizer, plugin_kinds().optimizers, "optimizer", name, fields,
        PluginOptimizer{memory, update});
    add_plugin_optimizer(name);
  }
  void step(const std::string& name, const std::vector<OptionInfo>& fields,
            const std::vector<std::string>& metrics, const MakeStep& make) override {
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
    require_fitting(what, added);
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

// "gated 1.0"
std::string load(const std::string& path) {
  if (!fs::is_regular_file(path)) throw Error(ExitCode::kUsage, "there is no such file");
  const PluginCall named(path, "while it is loaded");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ExitCode::kUsage, "cannot be loaded: {}", printable(dlerror(), 2000));
  const PluginDescription& plugin = described(library);
  Adding adding(plugin.name);
  in_plugin(plugin.name, "adding its kinds", [&] { plugin.add_kinds(adding); });
  return fmt::format("{} {}", plugin.name, plugin.version);
}

}  // namespace

std::string load_plugin(const std::string& path, const std::string& noted) {
  static std::map<std::string, std::string> loaded;  // by the file
  std::error_code none;
  const std::string file = fs::weakly_canonical(path, none);
  const auto found = loaded.find(file);
  if (found != loaded.end()) return found->second;
  if (!fs::exists(file, none)) {
    for (const auto& [other, identity] : loaded) {
      if (identity == noted) return noted;
    }
  }
  try {
    return loaded[file] = load(file);
  } catch (const Error& error) {
    throw Error(error.code(), "{}: {}", printable(path, 1000), error.what());
  }
}

}  // namespace dtrain
