#include "stablehlo/model_lowering.h"

#include <fmt/format.h>

#include "core/error.h"
#include "models/layer_kinds.h"

namespace dtrain {

// Values are numbered like the layers that produce them, with the model's input first.
LoweredModel::LoweredModel(ModelScope& scope, const LayerPlan& plan, const Value& inputs)
    : scope_(scope), plan_(plan), values_({inputs}) {
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
    step.lowered = kind.lower(use);
    const Value& output = step.lowered.output;
    values_.push_back(step.widens ? scope.builder.convert(output, given.element) : output);
  }
  gradients_.resize(values_.size());
}

bool LoweredModel::learns(int64_t layer) const {
  return layer != kModelInput && steps_[static_cast<size_t>(layer)].has_gradient;
}

// Adds to the gradient of the output of `layer`, if it needs one.
void LoweredModel::use(int64_t layer, const Value& gradient) {
  if (!learns(layer)) return;
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
    if (steps_[i].widens) arrived = scope_.builder.convert(arrived, values_.front().element);
    const LoweredLayer& lowered = steps_[i].lowered;
    use(layer.input, lowered.backward(arrived, learns(layer.input)));
    if (lowered.backward_with && learns(layer.with))
      use(layer.with, lowered.backward_with(arrived, /*wants_input=*/true));
  }
}

}  // namespace dtrain
