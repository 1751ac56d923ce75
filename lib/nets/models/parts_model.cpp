#include "models/parts_model.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <c10/util/ScopeExit.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/error.h"
#include "core/text.h"
#include "models/layer_kinds.h"
#include "models/shapes.h"

namespace dtrain {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Node;
using torch::autograd::variable_list;

constexpr const char* kWhole = "self";  // the name of the part that is the whole, as in its own source

// The output, which now depends on these parameters too, with gradients of zero.
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

// The tensors that the gradient of `output` does not reach.
variable_list unreached(const at::Tensor& output, const variable_list& tensors) {
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
  for (const at::Tensor& tensor : tensors) {
    if (!seen.contains(torch::autograd::impl::gradient_edge(tensor).function.get()))
      missing.push_back(tensor);
  }
  return missing;
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

std::vector<at::Tensor> buffers_of(const ModelPart& part) {
  std::vector<at::Tensor> buffers;
  for (const PartVariable& variable : part.variables) {
    if (!variable.is_parameter) buffers.push_back(variable.tensor);
  }
  return buffers;
}

}  // namespace

bool is_lack_of_memory(const std::string& error) {
  // oneDNN's error where it gets no memory. It is another if it has no way to compute an operation, and then
  // ends with "descriptor ...".
  const std::string primitive = "could not create a primitive";
  const size_t at = error.find(primitive);
  if (at != std::string::npos && error.compare(at + primitive.size(), 11, " descriptor") != 0) return true;
  const auto texts = {"DefaultCPUAllocator", "out of memory", "std::bad_alloc", "STATUS_ALLOC_FAILED"};
  return std::ranges::any_of(texts,
                             [&error](const char* text) { return error.find(text) != std::string::npos; });
}

KeptGenerator::KeptGenerator() : state_(at::detail::getDefaultCPUGenerator().get_state()) {}

KeptGenerator::~KeptGenerator() { at::Generator(at::detail::getDefaultCPUGenerator()).set_state(state_); }

PlacedLayer placed_part(const ModelPart& part) {
  PlacedLayer layer;
  layer.name = part.name.empty() ? kWhole : part.name;
  layer.spec.kind = kProgramPart.name;
  for (const PartVariable& variable : part.variables)
    (variable.learns ? layer.parameters : layer.buffers) += variable.tensor.numel();
  return layer;
}

at::Tensor example_batch(int64_t examples, const Shape& shape, at::ScalarType dtype) {
  return at::linspace(0, 1, examples * bounded_product(shape), dtype).view(with_rows(examples, shape));
}

LayerPlan plan_with_problem(const std::string& text) {
  LayerPlan plan;
  plan.problems.push_back({0, text});
  return plan;
}

PartsModel::PartsModel(std::vector<PlacedLayer> placed, const std::vector<ModelPart>& all,
                       std::set<std::string> moving)
    : Model(std::move(placed)),
      parts_(placed_parts(all)),
      moving_(std::move(moving)),
      is_trained_(parts_.size(), true) {
  for (const ModelPart& part : all) all_.push_back(part.name);
  const auto depth = [](const std::string& name) {
    return name.empty() ? -1 : std::ranges::count(name, '.');
  };
  std::ranges::stable_sort(all_,
                           [&](const std::string& a, const std::string& b) { return depth(a) < depth(b); });
  register_parts(*this, parts_);
}

void register_parts(torch::nn::Module& whole, const std::vector<ModelPart>& parts) {
  for (const ModelPart& part : parts) {
    if (part.variables.empty()) continue;
    torch::nn::Module& module = part_of(whole, part.name);
    for (const PartVariable& variable : part.variables) {
      if (variable.is_parameter)
        module.register_parameter(variable.name, variable.tensor, variable.learns);
      else
        module.register_buffer(variable.name, variable.tensor);
    }
  }
}

void PartsModel::train(bool on) {
  Model::train(on);
  const std::set<std::string> frozen = frozen_parts();
  for (const std::string& part : all_) set_training(part, on && !frozen.contains(part));
}

void PartsModel::train_layers(const TrainedLayers& layers) {
  for (size_t i = 0; i < parts_.size(); ++i) {
    is_trained_[i] = layers.each.empty() || layers.each[i];
    for (PartVariable& variable : parts_[i].variables) {
      if (variable.learns) variable.tensor.requires_grad_(is_trained_[i]);
    }
  }
}

std::vector<std::pair<std::string, at::Tensor>> PartsModel::moving_buffers() const {
  std::vector<std::pair<std::string, at::Tensor>> buffers;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const ModelPart& part = parts_[i];
    if (!is_trained_[i] || !moving_.contains(part.name)) continue;
    const std::string prefix = part.name.empty() ? "" : part.name + ".";
    for (const PartVariable& variable : part.variables) {
      if (!variable.is_parameter) buffers.emplace_back(prefix + variable.name, variable.tensor);
    }
  }
  return buffers;
}

at::Tensor PartsModel::forward(at::Tensor input) {
  const at::Tensor output = input.size(0) > 0
                                ? compute(input)
                                : at::empty(with_rows(0, layers().back().output_shape), input.options());
  return is_training() ? depending_on(output, parameters()) : output;
}

void PartsModel::synchronise(const GatherRows&) { throw Error(ExitCode::kBug, "its norms are not ours"); }

at::Tensor PartsModel::features(at::Tensor, int64_t) { throw Error(ExitCode::kBug, "it has no features"); }

// A part without variables, such as a dropout, is frozen if all are that have some within the nearest part
// around it that has one with some.
std::set<std::string> PartsModel::frozen_parts() const {
  std::map<std::string, bool> trains_within, trains;  // by the part's name
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].variables.empty()) continue;
    trains[parts_[i].name] = is_trained_[i];
    for (std::string name = parts_[i].name;; name = around(name)) {
      trains_within[name] |= is_trained_[i];
      if (name.empty()) break;
    }
  }
  std::set<std::string> frozen;
  for (const std::string& part : all_) {
    std::string name = part;
    while (!name.empty() && !trains_within.contains(name)) name = around(name);
    if (!(trains.contains(part) ? trains.at(part) : trains_within.at(name))) frozen.insert(part);
  }
  return frozen;
}

at::Tensor depending_on(const at::Tensor& output, const std::vector<at::Tensor>& needed) {
  if (!at::GradMode::is_enabled()) return output;
  variable_list trained;
  for (const at::Tensor& tensor : needed) {
    if (tensor.requires_grad()) trained.push_back(tensor);
  }
  const variable_list missing = unreached(output, trained);
  return missing.empty() ? output : WithParameters::apply(output, at::TensorList(missing));
}

// Batches of two sizes: of a module that was traced, one may have become part of it.
Trial try_model(Model& model, const std::vector<ModelPart>& parts, const Shape& input, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  const KeptGenerator kept;
  const auto end = c10::make_scope_exit([before = at::get_num_threads()] { at::set_num_threads(before); });
  at::set_num_threads(1);
  std::vector<std::vector<at::Tensor>> before;
  for (const ModelPart& part : parts) {
    for (at::Tensor& buffer : before.emplace_back(buffers_of(part))) buffer = buffer.clone();
  }
  const auto moved = [&] {
    std::set<std::string> names;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::vector<at::Tensor> now = buffers_of(parts[i]);
      for (size_t k = 0; k < now.size(); ++k) {
        if (!at::equal(now[k], before[i][k])) names.insert(parts[i].name);
      }
    }
    return names;
  };
  Trial trial;
  model.eval();
  const at::Tensor once = model.forward(example_batch(3, input, dtype)).clone();
  const at::Tensor again = model.forward(example_batch(3, input, dtype));
  trial.is_same_in_evaluation = moved().empty() && at::allclose(once, again, 1e-3, 1e-3, /*equal_nan=*/true);
  if (!trial.is_same_in_evaluation) return trial;
  if (once.dim() > 0) trial.output = once.sizes().slice(1).vec();
  model.train(true);
  model.forward(example_batch(2, input, dtype));
  trial.moving = moved();
  return trial;
}

}  // namespace dtrain
