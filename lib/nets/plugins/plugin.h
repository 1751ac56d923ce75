// dtrain's plug-ins: libraries that add kinds of models, layers, losses, optimizers and training steps, each
// with fields of its own in a spec. This is all that a plug-in sees of dtrain; docs/plugins.md is the guide.
//
//     #include <dtrain/plugin.h>
//
//     DTRAIN_PLUGIN(registry) {
//       registry.layer("scale", {{.name = "by", .otherwise = 2.0, .doc = "the factor", .minimum = 0}},
//                      [](const dtrain::Options& options, const dtrain::Shape&) {
//                        return std::make_shared<Scale>(options.number("by"));
//                      });
//     }
//
// Whatever a plug-in throws ends the command or the replica with a message that names the plug-in and the
// kind, and has what() of the exception.
#pragma once

#include <ATen/ATen.h>
#include <torch/headeronly/version.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// The version of this interface. dtrain loads plug-ins of its own version only.
#define DTRAIN_PLUGIN_INTERFACE 1

namespace dtrain {
inline namespace plugin_1 {

using Shape = std::vector<int64_t>;  // of one example, without the batch dimension

using OptionValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

// A field that a kind has in a spec. Kinds of one sort may share a field if it has the same type, bounds and
// choices in each.
struct OptionInfo {
  std::string name;                    // small letters, digits and '_'
  OptionValue otherwise;               // the value if the spec gives none; its type is that of the field
  std::string doc;                     // what it means: `dtrain schema` and messages show it
  std::optional<double> minimum = {};  // of a number, or of each in a list
  std::optional<double> maximum = {};
  std::vector<std::string> choices = {};  // of a text; empty: any
};

// The values of a kind's fields, those of the spec or the usual ones. A name that the kind does not have, or
// a value of another type, throws std::invalid_argument.
class Options {
 public:
  explicit Options(std::map<std::string, OptionValue> values, int64_t outputs = 0)
      : values_(std::move(values)), outputs_(outputs) {}

  bool flag(const std::string& name) const { return get<bool>(name); }
  int64_t integer(const std::string& name) const { return get<int64_t>(name); }
  double number(const std::string& name) const { return get<double>(name); }
  const std::string& text(const std::string& name) const { return get<std::string>(name); }
  const std::vector<int64_t>& integers(const std::string& name) const {
    return get<std::vector<int64_t>>(name);
  }
  const std::vector<double>& numbers(const std::string& name) const { return get<std::vector<double>>(name); }

  // Of a model: how many outputs the data and the loss need for an example.
  int64_t outputs() const { return outputs_; }

 private:
  template <class T>
  const T& get(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument("there is no field '" + name + "'");
    const T* const value = std::get_if<T>(&found->second);
    if (value == nullptr) throw std::invalid_argument("the field '" + name + "' has another type");
    return *value;
  }

  std::map<std::string, OptionValue> values_;
  int64_t outputs_;
};

// A module, and how it computes its output: any class with forward(at::Tensor), in a std::shared_ptr or, as
// torch::nn::Sequential, in a module holder.
//
// forward: [n, input shape] -> [n, output shape], n > 0. In evaluation mode, an example's output depends on
// that example alone. Parameters and buffers are registered in the constructor, and keep their names. They
// are initialised there too, from LibTorch's default generator, which the job's seed has set. In training,
// random numbers come from that generator as well: then a resumed run draws what it would have drawn.
struct BuiltModule {
  template <class M>
  BuiltModule(std::shared_ptr<M> built)
      : module(built), forward([built](const at::Tensor& input) { return built->forward(input); }) {}
  template <class M>
  BuiltModule(const torch::nn::ModuleHolder<M>& holder) : BuiltModule(holder.ptr()) {}

  std::shared_ptr<torch::nn::Module> module;
  std::function<at::Tensor(const at::Tensor&)> forward;
};

using MakeModule = std::function<BuiltModule(const Options& options, const Shape& input)>;

// What a loss is for, which decides its metrics, what predictions are, and the types of outputs and targets:
//   kClasses  logits [n, classes] and the index of each example's class, int64 [n]   (as cross_entropy)
//   kYesNo    logits [n, outputs], and targets from 0 to 1 of the same shape; or logits [n, 1] and the
//             classes 0 and 1, int64 [n]                                       (as binary_cross_entropy)
//   kNumbers  values [n, outputs] and targets of the same shape                 (as mean_squared_error)
// Targets that are no classes have the type of the outputs: the model's, and in `dtrain eval` float64.
enum class LossOf { kClasses, kYesNo, kNumbers };

// The loss of each example, [n], that autograd differentiates.
using ComputeLosses =
    std::function<at::Tensor(const Options& options, const at::Tensor& outputs, const at::Tensor& targets)>;

// What an optimizer updates in place, in one step. Replicas divide the elements of the parameters among
// themselves, so these tensors are parts of parameters, and an update must work on each element by itself.
struct OptimizerUpdate {
  const Options& options;
  const std::vector<at::Tensor>& parameters;
  const std::vector<at::Tensor>& gradients;  // of the mean loss over the global batch
  // By the place of the name in the list that was registered, then by parameter; zeros at first.
  const std::vector<std::vector<at::Tensor>>& memory;
  int64_t step;          // from 1
  double learning_rate;  // of this step, after scaling, warmup and schedule
  double weight_decay;   // of these parameters: 0 for those that do not decay
};
using UpdateParameters = std::function<void(const OptimizerUpdate& update)>;

// A micro-batch as a training step gets it.
struct StepBatch {
  at::Tensor inputs;   // [n, input shape], n > 0
  at::Tensor targets;  // classes, int64 [n], or numbers [n, targets]
};

// A loss and the parameters that it trains. Their gradients from several losses are added up.
struct StepLoss {
  at::Tensor sum;                      // a scalar: the sum over the examples of the batch
  std::vector<at::Tensor> parameters;  // none: all
};

// A gradient that the step has computed by itself, of a sum over the examples of the batch.
struct StepGradient {
  at::Tensor parameter;
  at::Tensor gradient;
};

struct StepResult {
  std::vector<StepLoss> losses = {};
  std::vector<StepGradient> gradients = {};
  // The sum over the examples of each metric that was registered, in that order: scalars.
  std::vector<at::Tensor> metrics = {};
};

// The model that a step trains.
struct StepModel {
  torch::nn::Module& module;  // of a plug-in's model, the module that it has made
  std::function<at::Tensor(const at::Tensor&)> forward;

  template <class M>
  M& as() const {
    auto* const same = dynamic_cast<M*>(&module);
    if (same == nullptr) throw std::invalid_argument("model.kind is not the model that this step trains");
    return *same;
  }
};

// A training step of one's own: from a batch to losses, gradients and metrics. dtrain divides them by the
// number of examples of the global batch, sums them over micro-batches and replicas, checks and clips them,
// and updates all parameters once.
//
// compute() is called in evaluations too, in evaluation mode and without gradients; only the losses and
// metrics count there. It must not change parameters. Afterwards the generator of processors is as it was
// before.
class TrainingStep {
 public:
  virtual ~TrainingStep() = default;
  virtual StepResult compute(const StepBatch& batch) = 0;
};
using MakeStep = std::function<std::unique_ptr<TrainingStep>(const Options& options, const StepModel& model)>;

// Adds kinds to those that a spec may name. A name has small letters, digits and '_', and is no kind of
// dtrain's own or of another plug-in's; else what adds it throws, and the plug-in is not loaded.
class Registry {
 public:
  // model: {kind: NAME, ...}. Its output is [n, options.outputs()], or of any shape for a step.
  virtual void model(const std::string& name, const std::vector<OptionInfo>& fields,
                     const MakeModule& make) = 0;
  // An entry of model.layers, {kind: NAME, ...}.
  virtual void layer(const std::string& name, const std::vector<OptionInfo>& fields,
                     const MakeModule& make) = 0;
  // train: {loss: {kind: NAME, ...}}.
  virtual void loss(const std::string& name, const std::vector<OptionInfo>& fields, LossOf of,
                    const ComputeLosses& compute) = 0;
  // train: {optimizer: {kind: NAME, ...}}. `memory`: names for what it remembers of each parameter.
  virtual void optimizer(const std::string& name, const std::vector<OptionInfo>& fields,
                         const std::vector<std::string>& memory, const UpdateParameters& update) = 0;
  // train: {loss: {kind: NAME, ...}}: a step takes the place of a loss. `metrics`: names for the means over
  // the examples that it reports besides the loss, which is the sum of its losses; less of each is better.
  // Several steps may share a name, but not with the metrics and fields of dtrain's events.
  virtual void step(const std::string& name, const std::vector<OptionInfo>& fields,
                    const std::vector<std::string>& metrics, const MakeStep& make) = 0;

 protected:
  ~Registry() = default;
};

// What a library says of itself. dtrain reads `interface` and `libtorch` before it calls anything.
struct PluginDescription {
  int interface;  // DTRAIN_PLUGIN_INTERFACE
  const char* libtorch;
  const char* name;
  const char* version;
  void (*add_kinds)(Registry& registry);
};

}  // namespace plugin_1
}  // namespace dtrain

#if !defined(DTRAIN_PLUGIN_NAME) || !defined(DTRAIN_PLUGIN_VERSION)
#define DTRAIN_PLUGIN(registry) \
  static_assert(false, "build it with dtrain_plugin() of dtrain's CMake package, which names the plug-in");
#else
// The only thing that a plug-in must have, once.
#define DTRAIN_PLUGIN(registry)                                                                             \
  static void dtrain_add_kinds(dtrain::Registry& registry);                                                 \
  extern "C" __attribute__((visibility("default"))) const dtrain::PluginDescription dtrain_plugin = {       \
      DTRAIN_PLUGIN_INTERFACE, TORCH_VERSION, DTRAIN_PLUGIN_NAME, DTRAIN_PLUGIN_VERSION, dtrain_add_kinds}; \
  static void dtrain_add_kinds([[maybe_unused]] dtrain::Registry& registry)
#endif
