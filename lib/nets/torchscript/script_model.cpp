#include "torchscript/script_model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Node;
using torch::autograd::variable_list;

std::string shape_text(const at::Tensor& tensor) { return to_string(tensor.sizes().vec()); }

// The parameters that the gradient of `output` does not reach.
variable_list unreached(const at::Tensor& output, const variable_list& parameters) {
  std::unordered_set<const Node*> seen;
  std::vector<Node*> left;
  const auto visit = [&](Node* node) {
    if (node != nullptr && seen.insert(node).second) left.push_back(node);
  };
  visit(output.grad_fn().get());
  while (!left.empty()) {
    const Node* const node = left.back();
    left.pop_back();
    for (const torch::autograd::Edge& edge : node->next_edges()) visit(edge.function.get());
  }
  variable_list missing;
  for (const at::Tensor& parameter : parameters) {
    if (!seen.contains(torch::autograd::impl::grad_accumulator(parameter).get()))
      missing.push_back(parameter);
  }
  return missing;
}

// The output, which now depends on these parameters too, with gradients of zero: all parameters have one, and
// replicas that exchange them wait for each.
class WithParameters : public torch::autograd::Function<WithParameters> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& output, at::TensorList parameters) {
    context->save_for_backward(parameters.vec());
    return output;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list all = {gradients[0]};
    for (const at::Tensor& parameter : context->get_saved_variables())
      all.push_back(at::zeros_like(parameter));
    return all;
  }
};

// The interpreter throws errors of one type, whatever an operation has thrown.
bool is_lack_of_memory(const std::string& error) {
  // oneDNN's error where it gets no memory. It is another if it has no way to compute an operation, and then
  // ends with "descriptor ...".
  const std::string primitive = "could not create a primitive";
  const size_t at = error.find(primitive);
  if (at != std::string::npos && error.compare(at + primitive.size(), 11, " descriptor") != 0) return true;
  const auto texts = {"DefaultCPUAllocator", "out of memory", "std::bad_alloc", "STATUS_ALLOC_FAILED"};
  return std::any_of(texts.begin(), texts.end(),
                     [&error](const char* text) { return error.find(text) != std::string::npos; });
}

// The tensor among what a module returns.
at::Tensor chosen_output(const c10::IValue& value, const std::optional<std::string>& name) {
  if (value.isGenericDict()) {
    std::vector<std::string> names;
    for (const auto& entry : value.toGenericDict()) {
      if (!entry.key().isString()) continue;
      names.push_back(entry.key().toStringRef());
      if (name == names.back() && entry.value().isTensor()) return entry.value().toTensor();
    }
    throw Error(ExitCode::kUsage, "returns a dict with {}, and model.output is {}; name one", join(names),
                name.value_or("not set"));
  }
  if (name)
    throw Error(ExitCode::kUsage, "returns no dict, and model.output names an entry of one; leave it out");
  if (value.isTensor()) return value.toTensor();
  if (value.isTuple() && !value.toTupleRef().elements().empty() &&
      value.toTupleRef().elements()[0].isTensor())
    return value.toTupleRef().elements()[0].toTensor();
  if (value.isTensorList() && !value.toTensorList().empty()) return value.toTensorList().get(0);
  throw Error(ExitCode::kUsage, "returns {} and no tensor", value.type()->repr_str());
}

torch::nn::Module& part_of(torch::nn::Module& whole, const std::string& name) {
  struct Named : torch::nn::Module {};
  torch::nn::Module* part = &whole;
  for (const std::string& step : name.empty() ? std::vector<std::string>() : split(name, '.')) {
    const auto children = part->named_children();
    const auto* const known = children.find(step);
    part = known ? known->get() : part->register_module(step, std::make_shared<Named>()).get();
  }
  return *part;
}

// "layer1.0" of "layer1.0.conv1"; empty, as the whole: of "layer1".
std::string around(const std::string& name) {
  return name.substr(0, name.find('.') == std::string::npos ? 0 : name.rfind('.'));
}

// Its variables have PyTorch's names, and are those of the script's modules.
class ScriptModel final : public Model {
 public:
  ScriptModel(std::vector<PlacedLayer> placed, Script script, const ScriptSource& source,
              std::set<std::string> moving)
      : placed_(std::move(placed)),
        script_(std::move(script)),
        source_(source),
        moving_(std::move(moving)),
        parts_(placed_parts(script_)),
        is_trained_(parts_.size(), true) {
    for (const ScriptPart& part : parts_) {
      torch::nn::Module& module = part_of(*this, part.name);
      for (const ScriptVariable& variable : part.variables) {
        if (variable.is_parameter)
          module.register_parameter(variable.name, variable.tensor, variable.learns);
        else
          module.register_buffer(variable.name, variable.tensor);
      }
    }
  }

  void train(bool on) override {
    Model::train(on);
    script_.set_training(on);
    for (ScriptPart& part : frozen_parts()) part.set_training(false);
  }

  void train_layers(const TrainedLayers& layers) override {
    for (size_t i = 0; i < parts_.size(); ++i) {
      is_trained_[i] = layers.each.empty() || layers.each[i];
      for (ScriptVariable& variable : parts_[i].variables) {
        if (variable.learns) variable.tensor.requires_grad_(is_trained_[i]);
      }
    }
  }

  std::vector<std::pair<std::string, at::Tensor>> moving_buffers() const override {
    std::vector<std::pair<std::string, at::Tensor>> buffers;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const ScriptPart& part = parts_[i];
      if (!is_trained_[i] || !moving_.contains(part.name)) continue;
      const std::string prefix = part.name.empty() ? "" : part.name + ".";
      for (const ScriptVariable& variable : part.variables) {
        if (!variable.is_parameter) buffers.emplace_back(prefix + variable.name, variable.tensor);
      }
    }
    return buffers;
  }

  // A batch without examples is not given to the module, many of which would fail.
  at::Tensor forward(at::Tensor input) override {
    const at::Tensor output =
        input.size(0) > 0 ? computed(input) : at::empty({0, outputs()}, input.options());
    if (!is_training() || !at::GradMode::is_enabled()) return output;
    variable_list trained;
    for (const at::Tensor& parameter : parameters()) {
      if (parameter.requires_grad()) trained.push_back(parameter);
    }
    const variable_list missing = unreached(output, trained);
    return missing.empty() ? output : WithParameters::apply(output, at::TensorList(missing));
  }

  const std::vector<PlacedLayer>& layers() const override { return placed_; }
  int64_t first_layer() const override { return 0; }
  void synchronise(const GatherRows&) override { throw Error(ExitCode::kBug, "its norms are not ours"); }
  const GatherRows& gathering() const override { return no_gathering_; }
  at::Tensor features(at::Tensor, int64_t) override { throw Error(ExitCode::kBug, "it has no features"); }

 private:
  at::Tensor computed(const at::Tensor& input) {
    const std::string of_batch = fmt::format("forward of a batch of {}", shape_text(input));
    try {
      const at::Tensor output = chosen_output(script_.module.forward({input}), source_.output);
      take_back_buffers();
      if (output.sizes() == at::IntArrayRef{input.size(0), outputs()} && output.is_floating_point())
        return output;
      throw Error(ExitCode::kUsage, "gives {} of {}; {} [n, {}] (here n = {}) of floating-point numbers",
                  shape_text(output), at::toString(output.scalar_type()), source_.needs, outputs(),
                  input.size(0));
    } catch (const Error& error) {
      throw Error(ExitCode::kUsage, "{}: {} {}", source_.name, of_batch, error.what());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const std::exception& error) {
      const std::string text = error.what();
      if (is_lack_of_memory(text)) throw std::bad_alloc();
      throw Error(ExitCode::kUsage, "{}: {} fails: {}", source_.name, of_batch, script_error(text));
    }
  }

  // A part without variables, such as a dropout, is frozen if all are that have some within the nearest part
  // around it that has one with some.
  std::vector<ScriptPart> frozen_parts() const {
    std::map<std::string, bool> trains_within, trains;  // by the part's name
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].variables.empty()) continue;
      trains[parts_[i].name] = is_trained_[i];
      for (std::string name = parts_[i].name;; name = around(name)) {
        trains_within[name] |= is_trained_[i];
        if (name.empty()) break;
      }
    }
    std::vector<ScriptPart> frozen;
    for (const ScriptPart& part : script_.parts) {
      std::string name = part.name;
      while (!name.empty() && !trains_within.contains(name)) name = around(name);
      if (!(trains.contains(part.name) ? trains.at(part.name) : trains_within.at(name)))
        frozen.push_back(part);
    }
    return frozen;
  }

  // A module that assigns to a buffer has another tensor in its place.
  void take_back_buffers() {
    const at::NoGradGuard no_grad;
    for (ScriptPart& part : parts_) {
      for (ScriptVariable& variable : part.variables) {
        if (variable.is_parameter) continue;
        const at::Tensor now = part.module.attr(variable.name).toTensor();
        if (now.is_same(variable.tensor)) continue;
        variable.tensor.copy_(now.detach());
        part.module.setattr(variable.name, variable.tensor);
      }
    }
  }

  std::vector<PlacedLayer> placed_;
  Script script_;
  ScriptSource source_;
  std::set<std::string> moving_;
  std::vector<ScriptPart> parts_;  // as placed_
  GatherRows no_gathering_;
  std::vector<bool> is_trained_;  // of each
};

}  // namespace

std::vector<ScriptPart> placed_parts(const Script& script) {
  std::vector<ScriptPart> placed;
  for (const ScriptPart& part : script.parts) {
    if (!part.variables.empty() || part.name.empty()) placed.push_back(part);
  }
  return placed;
}

std::shared_ptr<Model> make_script_model(std::vector<PlacedLayer> placed, Script script,
                                         const ScriptSource& source, std::set<std::string> moving) {
  return std::make_shared<ScriptModel>(std::move(placed), std::move(script), source, std::move(moving));
}

}  // namespace dtrain
