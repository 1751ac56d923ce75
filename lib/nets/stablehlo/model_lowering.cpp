#include "stablehlo/model_lowering.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "stablehlo/layer_lowering.h"

namespace dtrain {
namespace {

const std::vector<LayerLowering>& layer_lowerings() {
  static const std::vector<LayerLowering> table = {
      {"conv2d", lower_conv2d, /*rounds=*/true},
      {"max_pool2d", lower_max_pool2d, /*rounds=*/true},
      {"avg_pool2d", lower_avg_pool2d},
      {"global_avg_pool2d", lower_global_avg_pool2d},
      {"adaptive_avg_pool2d", lower_adaptive_avg_pool2d},
      {"flatten", lower_flatten, /*rounds=*/true},
      {"dense", lower_dense, /*rounds=*/true},
      {"relu", lower_relu, /*rounds=*/true},
      {"relu6", lower_relu6, /*rounds=*/true},
      {"gelu", lower_gelu},
      {"tanh", lower_tanh},
      {"sigmoid", lower_sigmoid},
      {"batch_norm", lower_batch_norm},
      {"layer_norm", lower_layer_norm},
      {"dropout", lower_dropout, /*rounds=*/true},
  };
  return table;
}

}  // namespace

const LayerLowering* find_layer_lowering(const std::string& kind) {
  for (const LayerLowering& row : layer_lowerings()) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

Shape LayerUse::output_shape() const {
  Shape shape = {input.size(0)};
  shape.insert(shape.end(), layer.output_shape.begin(), layer.output_shape.end());
  return shape;
}

struct LoweredModel::Step {
  LayerBackward backward = {};  // empty: add
  bool has_gradient = false;    // something that is trained needs the gradient of its output
  bool widens = false;          // it is computed in the inputs' element, and its output rounded
};

LoweredModel::~LoweredModel() = default;

// Values are numbered like the layers that produce them, with the model's input first.
LoweredModel::LoweredModel(ModelScope& scope, const LayerPlan& plan, const Value& inputs)
    : scope_(scope), plan_(plan), values_({inputs}) {
  const auto learns = [this](int64_t layer) {
    return layer != kModelInput && steps_[static_cast<size_t>(layer)].has_gradient;
  };
  const auto value = [this](int64_t layer) { return values_[static_cast<size_t>(layer - kModelInput)]; };
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const PlacedLayer& layer = plan.layers[i];
    const bool trained = layer.parameters > 0 && scope.trains(i);
    Step& step = steps_.emplace_back();
    step.has_gradient = trained || learns(layer.input);
    scope.builder.comment(fmt::format("forward: {} {}", layer.spec.kind, to_string(layer.output_shape)));
    if (layer.spec.kind == "add") {
      step.has_gradient |= learns(layer.with);
      const Value one = value(layer.input), other = value(layer.with);
      const std::string element = one.element == other.element ? one.element : inputs.element;
      const Value first = scope.builder.convert(one, element);
      values_.push_back(first + scope.builder.convert(other, element));
      continue;
    }
    const LayerLowering* row = find_layer_lowering(layer.spec.kind);
    if (row == nullptr)
      throw Error(ExitCode::kBug, fmt::format("layers of the kind {} are not lowered", layer.spec.kind));
    const Value given = value(layer.input);
    step.widens = !row->rounds && given.element != inputs.element;
    const Value input = step.widens ? scope.builder.convert(given, inputs.element) : given;
    LoweredLayer lowered = row->lower({scope, layer, static_cast<int64_t>(i), trained, input});
    values_.push_back(step.widens ? scope.builder.convert(lowered.output, given.element) : lowered.output);
    step.backward = std::move(lowered.backward);
  }
  gradients_.resize(values_.size());
}

const Value& LoweredModel::outputs() const { return values_.back(); }

// Adds to the gradient of the output of `layer`.
void LoweredModel::use(int64_t layer, const Value& gradient) {
  if (layer == kModelInput || !steps_[static_cast<size_t>(layer)].has_gradient) return;
  const auto number = static_cast<size_t>(layer - kModelInput);
  const Value rounded = scope_.builder.convert(gradient, values_[number].element);
  gradients_[number] = gradients_[number] ? gradients_[number] + rounded : rounded;
}

void LoweredModel::backward(const Value& gradient) {
  use(std::ssize(plan_.layers) - 1, gradient);
  for (size_t i = plan_.layers.size(); i-- > 0;) {
    const PlacedLayer& layer = plan_.layers[i];
    Value arrived = gradients_[i + 1];
    if (!arrived) continue;
    scope_.builder.comment(fmt::format("backward: {}", layer.spec.kind));
    if (layer.spec.kind == "add") {
      use(layer.input, arrived);
      use(layer.with, arrived);
      continue;
    }
    const bool wants_input =
        layer.input != kModelInput && steps_[static_cast<size_t>(layer.input)].has_gradient;
    if (steps_[i].widens) arrived = scope_.builder.convert(arrived, values_.front().element);
    const Value passed = steps_[i].backward(arrived, wants_input);
    if (wants_input) use(layer.input, passed);
  }
}

}  // namespace dtrain
