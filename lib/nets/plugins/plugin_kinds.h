// The kinds that loaded plug-ins have added, and calling them.
#pragma once

#include <c10/util/Exception.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "models/model.h"
#include "objective/objective.h"
#include "plugins/plugin.h"
#include "spec/added_kinds.h"

namespace dtrain {

// A kind of a plug-in: what the program calls, and the default values of the fields.
template <class Call>
struct PluginKind {
  std::string plugin;  // its name
  std::string what;    // "layer 'scale'", for messages
  std::map<std::string, OptionValue> usual;
  Call call;

  // The values of these fields of a spec.
  Options options(const KindFields& own, int64_t outputs = 0) const {
    std::map<std::string, OptionValue> values = usual;
    for (const auto& [name, value] : own.get<OptionFields>().values) values[name] = value;
    return Options(std::move(values), outputs);
  }
};

struct PluginLoss {
  LossOf of;
  ComputeLosses compute;
};

struct PluginOptimizer {
  std::vector<std::string> memory;
  UpdateParameters update;
};

struct PluginKinds {
  std::map<std::string, PluginKind<MakeModule>> models, layers;
  std::map<std::string, PluginKind<PluginLoss>> losses;
  std::map<std::string, PluginKind<PluginOptimizer>> optimizers;
  std::map<std::string, PluginKind<MakeStep>> steps;
};

// The kinds of this process, by name. A kind stays where it is in memory.
PluginKinds& plugin_kinds();

// Notes a loaded plug-in: the last words of a process that crashes outside of calls name all of them.
void note_plugin(const std::string& name);

// What a thread is calling. If the process crashes meanwhile, its last words name it.
class PluginCall {
 public:
  PluginCall(const std::string& plugin, const std::string& what);
  ~PluginCall();
  PluginCall(PluginCall&&) = delete;  // nor copied

 private:
  const char* before_;
  std::string text_;
};

// The error that stands for the exception that is being handled: Error(kUsage) with the plug-in's name.
// Errors of the program and a lack of memory stay what they are.
[[noreturn]] void rethrow_of_plugin(const std::string& plugin, const std::string& what);

// Calls something of a plug-in.
template <class Call>
auto in_plugin(const std::string& plugin, const std::string& what, const Call& call) {
  const PluginCall named(plugin, what);
  try {
    return call();
  } catch (...) {
    rethrow_of_plugin(plugin, what);
  }
}

template <class Kind, class Call>
auto in_plugin(const PluginKind<Kind>& kind, const Call& call) {
  return in_plugin(kind.plugin, kind.what, call);
}

// The modules of a plug-in's model, which is made and tried on a batch of [n, input_shape]: it must give [n,
// outputs], which `needed_for` needs (as in place_layers()), or with `any_outputs` any shape. Whatever is
// wrong with it becomes a problem.
LayerPlan place_plugin_model(const ModelSpec& spec, const Shape& input_shape, int64_t outputs,
                             const std::string& needed_for, bool any_outputs = false);

// The model as a training step of a plug-in sees it.
StepModel step_model(Model& model);

bool is_plugin_layer(const std::string& kind);

// Adds the layer of this name to those that models may have (models/layer_kinds.h).
void add_plugin_layer(const std::string& name);

// Adds the loss, or the step, of this name (traits/objectives.h, objective/objective.h).
void add_plugin_loss(const std::string& name);
void add_plugin_step(const std::string& name, const std::vector<std::string>& metrics);

// The step of a plug-in that train.loss names, for this model; nullptr if it names a loss.
std::unique_ptr<TrainingStep> make_plugin_step(const LossSpec& loss, const StepModel& model);

// Runs `call` as part of that step: its exceptions name the plug-in.
std::vector<at::Tensor> call_step(const LossSpec& loss, const std::function<std::vector<at::Tensor>()>& call);

// TrainingStep::compute() for that loss, checked: as many metrics as were registered, and all of them and the
// losses scalars. Throws Error(kUsage) with the plug-in's name.
StepResult compute_step(const LossSpec& loss, TrainingStep& step, const StepBatch& batch);

// Adds the optimizer of this name to those that a spec may have (optim/optimizer_kinds.h).
void add_plugin_optimizer(const std::string& name);

}  // namespace dtrain
