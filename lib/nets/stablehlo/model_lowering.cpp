#include "stablehlo/model_lowering.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "models/layer_kinds.h"

namespace dtrain {

struct LoweredModel::Step {
  LayerBackward backward = {};
  LayerBackward backward_with = {};  // of a layer with two inputs
  bool has_gradient = false;         // something that is trained needs the gradient of its output
  bool widens = false;               // it is computed in the inputs' element, and its output rounded
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
    const LayerKind& kind = kind_of(layer);
    if (kind.lower == nullptr)
      throw Error(ExitCode::kBug, "layers of the kind {} are not lowered", kind.name);
    const Value given = value(layer.input);
    step.widens = !kind.rounds && given.element != inputs.element;
    const Value input = step.widens ? scope.builder.convert(given, inputs.element) : given;
    LayerUse use{scope, layer, static_cast<int64_t>(i), trained, input};
    if (kind.combine != nullptr) {
      step.has_gradient |= learns(layer.with);
      use.with = kind.rounds ? value(layer.with) : scope.builder.convert(value(layer.with), inputs.element);
    }
    LoweredLayer lowered = kind.lower(use);
    values_.push_back(step.widens ? scope.builder.convert(lowered.output, given.element) : lowered.output);
    step.backward = std::move(lowered.backward);
    step.backward_with = std::move(lowered.backward_with);
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
    const auto wants = [this](int64_t input) {
      return input != kModelInput && steps_[static_cast<size_t>(input)].has_gradient;
    };
    if (steps_[i].widens) arrived = scope_.builder.convert(arrived, values_.front().element);
    const Value passed = steps_[i].backward(arrived, wants(layer.input));
    if (wants(layer.input)) use(layer.input, passed);
    if (steps_[i].backward_with && wants(layer.with))
      use(layer.with, steps_[i].backward_with(arrived, /*wants_input=*/true));
  }
}

}  // namespace dtrain
