#include "models/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "models/layer_kinds.h"

namespace dtrain {
namespace {

// What is wrong with the shape that the first layer gets, or nothing.
std::string input_problem(const Shape& input) {
  const bool positive = std::all_of(input.begin(), input.end(), [](int64_t size) { return size >= 1; });
  if (!input.empty() && positive && bounded_product(input) <= kMostNumbers) return "";
  return fmt::format("the model's input {} must have sizes of at least 1 and at most {} numbers",
                     to_string(input), with_separators(kMostNumbers));
}

// Problems of the model as a whole: what comes out, and whether there is anything to train.
void check_whole(LayerPlan& plan, int64_t classes) {
  const Shape output = plan.output_shape();
  if (classes > 0 && output != Shape{classes}) {
    plan.problems.push_back(
        {plan.layers.size() - 1,
         fmt::format("{}: the last layer gives {} but {} classes need {}; end with a dense layer of {} units",
                     plan.layers.back().name, to_string(output), classes, to_string({classes}), classes)});
  }
  if (plan.parameters() == 0) {
    plan.problems.push_back({0, "the model has no trainable parameters; add a dense or conv2d layer"});
  }
}

std::string unknown_kind(const std::string& kind) {
  const auto& known = layer_kinds_built();
  return fmt::format("unknown layer kind '{}'; known: {}{}", printable(kind), join(known),
                     did_you_mean(kind, known));
}

// The layer placed on `input`, or what is wrong with it; `parameters_before` counts those of the layers
// before it.
Placement place(const LayerSpec& spec, const Shape& input, int64_t parameters_before) {
  const LayerKind* kind = find_layer_kind(spec.kind);
  if (kind == nullptr) return {{}, 0, 0, unknown_kind(spec.kind)};
  Placement placement = kind->place(spec, input);
  if (!placement.problem.empty()) return placement;
  if (bounded_product(placement.output_shape) > kMostNumbers) {
    placement.problem =
        fmt::format("makes {} of its input {}, more than {} numbers", to_string(placement.output_shape),
                    to_string(input), with_separators(kMostNumbers));
  } else if (parameters_before + placement.parameters > kMostNumbers) {
    placement.problem =
        fmt::format("makes {} of its input {}, which brings the model to more than {} parameters",
                    to_string(placement.output_shape), to_string(input), with_separators(kMostNumbers));
  }
  return placement;
}

}  // namespace

Shape LayerPlan::output_shape() const { return layers.empty() ? Shape{} : layers.back().output_shape; }

int64_t LayerPlan::parameters() const {
  int64_t sum = 0;
  for (const PlacedLayer& layer : layers) sum += layer.parameters;
  return sum;
}

int64_t LayerPlan::buffers() const {
  int64_t sum = 0;
  for (const PlacedLayer& layer : layers) sum += layer.buffers;
  return sum;
}

LayerPlan place_layers(const std::vector<LayerSpec>& layers, const Shape& input_shape, int64_t classes) {
  LayerPlan plan;
  if (layers.empty()) plan.problems.push_back({0, "the model has no layers"});
  if (const auto problem = input_problem(input_shape); !problem.empty())
    plan.problems.push_back({0, problem});
  if (!plan.problems.empty()) return plan;

  std::map<std::string, int64_t> seen;  // how many layers of a kind have a name
  Shape input = input_shape;
  int64_t parameters = 0;
  for (const LayerSpec& spec : layers) {
    const int64_t number = seen[spec.kind]++;
    const std::string name = number == 0 ? spec.kind : fmt::format("{}_{}", spec.kind, number);
    const Placement placement = place(spec, input, parameters);
    if (!placement.problem.empty()) {
      plan.problems.push_back({plan.layers.size(), printable(name) + ": " + placement.problem});
      return plan;
    }
    plan.layers.push_back(
        {name, spec, input, placement.output_shape, placement.parameters, placement.buffers});
    input = placement.output_shape;
    parameters += placement.parameters;
  }

  check_whole(plan, classes);
  for (const LayerProblem& problem : plan.problems)
    plan.layers.resize(std::min(plan.layers.size(), problem.layer));
  return plan;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace dtrain
