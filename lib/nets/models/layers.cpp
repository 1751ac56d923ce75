#include "models/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/text.h"
#include "models/layer_kinds.h"
#include "models/shapes.h"
#include "spec/fields.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

// What is wrong with the input shape of the first layer, or an empty string.
std::string input_problem(const Shape& input) {
  const bool positive = std::ranges::all_of(input, [](int64_t size) { return size >= 1; });
  if (!input.empty() && positive && bounded_product(input) <= kMostNumbers) return "";
  return fmt::format("the model's input {} must have sizes of at least 1 and at most {} numbers",
                     to_string(input), with_separators(kMostNumbers));
}

// Layers whose weights do not change the output would have no gradients.
void check_all_used(LayerPlan& plan, const std::vector<size_t>& begins) {
  std::vector<bool> used(plan.layers.size(), false);
  used.back() = true;
  for (size_t i = plan.layers.size(); i-- > 0;) {
    const PlacedLayer& layer = plan.layers[i];
    for (const int64_t read : {layer.input, layer.with}) {
      if (used[i] && read != kModelInput) used[static_cast<size_t>(read)] = true;
    }
    if (used[i] || layer.parameters == 0) continue;
    const auto number = std::ranges::upper_bound(begins, i) - begins.begin() - 1;
    plan.problems.insert(
        plan.problems.begin(),
        LayerProblem{static_cast<size_t>(number),
                     layer.name + ": the model's output does not depend on it; name it in `from` or "
                                  "`with` of a later layer, or remove it"});
  }
}

// Checks the model as a whole: its output shape, whether it has anything to train, and whether all is used.
// `begins` has the number in the plan of each layer of the spec's list.
void check_whole(LayerPlan& plan, const std::vector<size_t>& begins, int64_t outputs,
                 const std::string& needed_for) {
  const Shape output = plan.output_shape();
  if (outputs > 0 && output != Shape{outputs}) {
    plan.problems.push_back(
        {begins.size() - 1,
         fmt::format("{}: the last layer gives {} but {} {}; end with a dense layer of {}",
                     plan.layers.back().name, to_string(output),
                     needed_for.empty() ? fmt::format("{} classes need", outputs) : needed_for,
                     to_string({outputs}), counted(outputs, "unit"))});
  }
  if (plan.parameters() == 0)
    plan.problems.push_back({0, "the model has no trainable parameters; add a dense or conv2d layer"});
  check_all_used(plan, begins);
}

std::string unknown_kind(const std::string& kind) {
  const auto known = layer_kinds_built();
  return fmt::format("unknown layer kind '{}'; known: {}{}", printable(kind), join(known),
                     did_you_mean(kind, known));
}

// Places one layer after the other.
class Placer {
 public:
  Placer(LayerPlan& plan, const Shape& input_shape) : plan_(plan), input_shape_(input_shape) {}

  // Appends the layer to the plan, and its activation after it. If something is wrong, returns the problem
  // instead, with the layer's name.
  std::string place(const LayerSpec& spec) {
    const std::optional<std::string> activation = activation_of(spec);
    if (auto problem = place_one(spec); !problem.empty() || !activation) return problem;
    const std::string name = plan_.layers.back().name;
    if (auto problem = place_one({.kind = *activation}); !problem.empty()) return problem;
    numbers_[name] = numbers_[plan_.layers.back().name];
    return "";
  }

 private:
  std::string place_one(const LayerSpec& spec) {
    const int64_t number = seen_[spec.kind]++;
    const std::string automatic = number == 0 ? spec.kind : fmt::format("{}_{}", spec.kind, number);
    PlacedLayer layer;
    layer.name = spec.name.value_or(automatic);
    layer.spec = spec;
    layer.input = std::ssize(plan_.layers) - 1;
    std::string problem = connect(layer);
    if (problem.empty()) problem = infer(layer);
    if (!problem.empty()) return printable(layer.name) + ": " + problem;
    parameters_ += layer.parameters;
    numbers_[layer.name] = std::ssize(plan_.layers);
    plan_.layers.push_back(std::move(layer));
    return "";
  }

  std::string connect(PlacedLayer& layer) const {
    if (numbers_.contains(layer.name)) return "an earlier layer has this name; give each its own";
    if (layer.spec.from) {
      if (auto problem = find("from", *layer.spec.from, layer.input); !problem.empty()) return problem;
    }
    layer.input_shape = shape_after(layer.input);
    const LayerKind* kind = find_layer_kind(layer.spec.kind);
    if (kind == nullptr || kind->combine == nullptr) return "";
    const auto& with = layer.spec.own.get<PairFields>().with;
    if (!with) return kind->pair_problem(layer.spec, layer.input_shape, nullptr);
    if (auto problem = find("with", *with, layer.with); !problem.empty()) return problem;
    return kind->pair_problem(layer.spec, layer.input_shape, &shape_after(layer.with));
  }

  std::string find(const char* field, const std::string& name, int64_t& number) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) {
      number = found->second;
      return "";
    }
    std::vector<std::string> known;
    for (const auto& [each, place] : numbers_) known.push_back(each);
    return fmt::format("{}: no earlier layer is named '{}'{}", field, printable(name),
                       did_you_mean(name, known));
  }

  // Infers the shape and the counts of a layer whose input is known.
  std::string infer(PlacedLayer& layer) const {
    const LayerKind* kind = find_layer_kind(layer.spec.kind);
    if (kind == nullptr) return unknown_kind(layer.spec.kind);
    const LayerSizes sizes = kind->place(layer.spec, layer.input_shape);
    if (!sizes.problem.empty()) return sizes.problem;
    layer.output_shape = sizes.output_shape;
    layer.parameters = sizes.parameters;
    layer.buffers = sizes.buffers;
    const auto too_many = [&](const char* what, const char* unit) {
      return fmt::format("makes {} of its input {}, {}more than {} {}", to_string(layer.output_shape),
                         to_string(layer.input_shape), what, with_separators(kMostNumbers), unit);
    };
    if (bounded_product(layer.output_shape) > kMostNumbers) return too_many("", "numbers");
    if (parameters_ + layer.parameters > kMostNumbers)
      return too_many("which brings the model to ", "parameters");
    return "";
  }

  const Shape& shape_after(int64_t layer) const {
    return layer == kModelInput ? input_shape_ : plan_.layers[static_cast<size_t>(layer)].output_shape;
  }

  LayerPlan& plan_;
  const Shape& input_shape_;
  std::map<std::string, int64_t> seen_;     // how many layers there are of a kind
  std::map<std::string, int64_t> numbers_;  // each layer's number, by name
  int64_t parameters_ = 0;                  // of all layers so far
};

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

LayerPlan place_layers(const std::vector<LayerSpec>& layers, const Shape& input_shape, int64_t outputs,
                       const std::string& needed_for) {
  LayerPlan plan;
  if (layers.empty()) plan.problems.push_back({0, "the model has no layers"});
  if (const auto problem = input_problem(input_shape); !problem.empty())
    plan.problems.push_back({0, problem});
  if (!plan.problems.empty()) return plan;

  Placer placer(plan, input_shape);
  std::vector<size_t> begins;  // of each layer of the list, in the plan
  for (const LayerSpec& spec : layers) {
    begins.push_back(plan.layers.size());
    const auto problem = placer.place(spec);
    if (!problem.empty()) plan.problems.push_back({begins.size() - 1, problem});
    if (!problem.empty()) break;
  }
  if (plan.problems.empty()) check_whole(plan, begins, outputs, needed_for);
  for (const LayerProblem& problem : plan.problems)
    plan.layers.resize(std::min(plan.layers.size(), begins[problem.layer]));
  return plan;
}

bool is_read_by_next(const std::vector<PlacedLayer>& layers, size_t number) {
  const auto made = static_cast<int64_t>(number);
  const auto reads = [made](const PlacedLayer& layer) { return layer.input == made || layer.with == made; };
  return number + 1 < layers.size() && layers[number + 1].input == made &&
         std::ranges::count_if(layers, reads) == 1;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace dtrain
