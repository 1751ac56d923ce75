#include "compiled/compiled_program.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "compiled/layer_passes.h"
#include "core/cache_lines.h"
#include "kernels/elementwise.h"
#include "models/variables.h"

namespace dtrain {
namespace {

// Pieces of one memory, whose places are known when all have been asked for. Each begins a cache line.
class Layout {
 public:
  // A piece that nothing has yet.
  size_t piece() const { return sizes_.size(); }
  // `place` gets the address of the piece in allocate(), and must not move until then. The piece, which
  // others may have too, has at least `numbers` numbers.
  void add(size_t piece, float** place, int64_t numbers) {
    sizes_.resize(std::max(sizes_.size(), piece + 1));
    sizes_[piece] = std::max(sizes_[piece], whole_lines_of_floats(numbers));
    places_.emplace_back(place, piece);
  }
  // In `memory`, unless that is too small: then in memory that it becomes.
  void allocate(at::Tensor& memory) {
    std::vector<int64_t> begins = {0};
    for (const int64_t size : sizes_) begins.push_back(begins.back() + size);
    const int64_t numbers = begins.back() + kCacheLineFloats;  // even a piece without numbers has an address
    if (!memory.defined() || memory.numel() < numbers) memory = at::zeros({numbers}, at::kFloat);
    for (const auto& [place, piece] : places_) *place = memory.mutable_data_ptr<float>() + begins[piece];
  }

 private:
  std::vector<int64_t> sizes_;
  std::vector<std::pair<float**, size_t>> places_;
};

// Shows the passes of a layer in profiles, as LibTorch shows its operations.
class Recorded {
 public:
  Recorded(at::RecordScope scope, const Node& node, const PlacedLayer& layer) : record_(scope) {
    if (!record_.isActive()) return;
    const PlacedLayer* const turned = node.input == kModelInput ? nullptr : &layer;
    name_ = node.turned.empty() ? layer.name : name_of_turning(turned);
    record_.before(name_.c_str());
  }

 private:
  std::string name_;  // lasts as long as the record
  at::RecordFunction record_;
};

struct Parameter {
  at::Tensor values;
  float* gradient = nullptr;
  size_t number = 0;  // of the gradient
};

}  // namespace

std::string name_of_turning(const PlacedLayer* layer) {
  return (layer == nullptr ? "input" : layer->name) + " turned";
}

std::vector<at::Tensor> allocate_gradients(const Model& model) {
  const std::vector<at::Tensor> parameters = tensors_of(trained_parameters(model));
  int64_t size = 0;
  for (const at::Tensor& parameter : parameters) size += whole_lines_of_floats(parameter.numel());
  const at::Tensor memory = at::zeros({size}, at::kFloat);
  std::vector<at::Tensor> gradients;
  int64_t begin = 0;
  for (const at::Tensor& parameter : parameters) {
    gradients.push_back(memory.narrow(0, begin, parameter.numel()).view(parameter.sizes()));
    begin += whole_lines_of_floats(parameter.numel());
  }
  return gradients;
}

int64_t numbers_of_example(const std::vector<PlacedLayer>& layers, size_t first, int64_t examples) {
  int64_t numbers = 0, scratch = 0, addend = 0;  // of the batch
  for (const Node& node : nodes_of(layers, first, /*training=*/true)) {
    const LayerWork work = sizes_of(node, layers, examples);
    if (!node.overwrites) numbers += examples * work.outputs;
    if (!node.shares_gradient) numbers += examples * work.outputs;
    if (node.readers > 1) addend = std::max(addend, examples * work.outputs);
    if (node.passes->kept != nullptr) numbers += node.passes->kept(work);
    if (node.passes->scratch != nullptr) scratch = std::max(scratch, node.passes->scratch(work));
  }
  return (numbers + scratch + addend + examples - 1) / examples;
}

int64_t numbers_of_evaluated(const std::vector<PlacedLayer>& layers, size_t first, int64_t examples) {
  const std::vector<Node> nodes = nodes_of(layers, first, /*training=*/false);
  std::vector<int64_t> outputs;             // of each node
  int64_t most = 0, kept = 0, scratch = 0;  // of the batch
  for (const Node& node : nodes) {
    const LayerWork work = sizes_of(node, layers, examples);
    int64_t live = node.in_place ? 0 : examples * work.outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (nodes[i].last_reader >= std::ssize(outputs)) live += outputs[i];
    }
    most = std::max(most, live);
    if (node.passes->kept != nullptr) kept = std::max(kept, node.passes->kept(work));
    if (node.passes->scratch != nullptr) scratch = std::max(scratch, node.passes->scratch(work));
    outputs.push_back(examples * work.outputs);
  }
  return (most + kept + scratch + examples - 1) / examples;
}

Program::Program(const Model& model, int64_t examples, const std::vector<at::Tensor>& gradients,
                 at::Tensor memory)
    : examples_(examples), memory_(std::move(memory)) {
  add_layers(model, &gradients);
  lay_out_training();
}

Program::Program(const Model& model, int64_t examples, at::Tensor memory)
    : examples_(examples), memory_(std::move(memory)) {
  add_layers(model, nullptr);
  lay_out_evaluation();
}

void Program::add_layers(const Model& model, const std::vector<at::Tensor>* gradients) {
  std::map<std::string, Parameter> parameters;
  size_t number = 0;
  for (const auto& named : model.named_parameters()) {
    Parameter& parameter = parameters[named.key()];
    parameter.values = named.value();
    if (gradients == nullptr || !named.value().requires_grad()) continue;
    parameter.gradient = (*gradients)[number].mutable_data_ptr<float>();
    parameter.number = number++;
  }
  std::map<std::string, at::Tensor> buffers;
  for (const auto& named : model.named_buffers()) buffers[named.key()] = named.value();
  const std::vector<PlacedLayer>& layers = model.layers();
  const auto first = static_cast<size_t>(model.first_layer());
  for (const Node& node : nodes_of(layers, first, gradients != nullptr)) {
    auto& [_, work, trained, sums] = steps_.emplace_back(Step{node, sizes_of(node, layers, examples_)});
    const PlacedLayer& layer = layers[node.layer];
    if (node.passes->backward_weights == nullptr) continue;
    const Parameter& weight = parameters[layer.name + ".weight"];
    const Parameter& bias = parameters[layer.name + ".bias"];  // undefined without one
    work.weight = weight.values;
    work.weight_gradient = weight.gradient;
    work.bias = bias.values;
    work.bias_gradient = bias.gradient;
    work.moving_mean = buffers[layer.name + ".running_mean"];  // undefined without one
    work.moving_variance = buffers[layer.name + ".running_var"];
    work.gather = model.gathering();
    for (const Parameter* parameter : {&bias, &weight}) {
      if (parameter->gradient != nullptr) trained.push_back(parameter->number);
    }
  }
}

void Program::lay_out_training() {
  Layout layout;
  const size_t scratch = 0, addend = 1;
  for (auto& [node, work, trained, sums] : steps_) {
    const LayerPasses& passes = *node.passes;
    const int64_t numbers = examples_ * work.outputs;
    layout.add(scratch, &work.scratch, passes.scratch == nullptr ? 0 : passes.scratch(work));
    layout.add(addend, &addend_, node.readers > 1 ? numbers : 0);
    if (!node.overwrites) layout.add(layout.piece(), &work.output, numbers);
    if (!node.shares_gradient) layout.add(layout.piece(), &work.output_gradient, numbers);
    if (passes.kept != nullptr) layout.add(layout.piece(), &work.kept, passes.kept(work));
  }
  layout.allocate(memory_);

  for (auto& [node, work, trained, sums] : steps_) {
    if (node.overwrites) work.output = steps_[static_cast<size_t>(node.input)].work.output;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->node.in_place)
      steps_[static_cast<size_t>(step->node.input)].work.output_gradient = step->work.output_gradient;
  }
  find_inputs();
  find_input_gradients();
  outputs_ = outputs_at(steps_.back().work.output);
  output_gradient_ = outputs_at(steps_.back().work.output_gradient);
}

void Program::find_inputs() {
  const auto output_of = [&](int64_t value) -> const float* {
    return value == kModelInput ? nullptr : steps_[static_cast<size_t>(value)].work.output;
  };
  for (auto& [node, work, trained, sums] : steps_) {
    work.input = output_of(node.input);
    work.with = output_of(node.with);
  }
}

// A gradient is needed if there is a trained layer before it.
void Program::find_input_gradients() {
  std::vector<bool> needed(steps_.size());  // of each step's output
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto& [node, work, trained, sums] = steps_[i];
    const auto is_needed = [&](int64_t value) {
      return value != kModelInput && needed[static_cast<size_t>(value)];
    };
    if (is_needed(node.input)) work.input_gradient = place_for_gradient(node.input, i);
    if (is_needed(node.with)) work.with_gradient = place_for_gradient(node.with, i);
    needed[i] = work.weight_gradient != nullptr || is_needed(node.input) || is_needed(node.with);
  }
}

// Where step number `reader` writes what it makes of the gradient of a value. Backward comes to the last
// reader first; what the others make, or the last one for the second time, is added.
float* Program::place_for_gradient(int64_t of, size_t reader) {
  const Step& value = steps_[static_cast<size_t>(of)];
  Step& step = steps_[reader];
  float* const gradient = value.work.output_gradient;
  const bool is_first =
      value.node.last_reader == static_cast<int64_t>(reader) && step.work.input_gradient != gradient;
  if (is_first) return gradient;
  step.sums.push_back(gradient);
  return addend_;
}

// Of each value no more is kept than until it has been read for the last time: of a chain, two in turn.
void Program::lay_out_evaluation() {
  Layout layout;
  const size_t kept = 0, scratch = 1;
  std::vector<int64_t> busy(2, std::ssize(steps_));  // each piece until after this step
  std::vector<size_t> places;                        // of each step's output
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto& [node, work, trained, sums] = steps_[i];
    const auto is_free = [i](int64_t last) { return last < static_cast<int64_t>(i); };
    const auto free = std::ranges::find_if(busy, is_free);
    size_t place = static_cast<size_t>(free - busy.begin());
    if (node.in_place) place = places[static_cast<size_t>(node.input)];
    if (place == busy.size()) busy.push_back(0);
    busy[place] = node.last_reader;
    places.push_back(place);
    layout.add(place, &work.output, examples_ * work.outputs);
    if (node.passes->kept != nullptr) layout.add(kept, &work.kept, node.passes->kept(work));
    if (node.passes->scratch != nullptr) layout.add(scratch, &work.scratch, node.passes->scratch(work));
  }
  layout.allocate(memory_);
  find_inputs();
  outputs_ = outputs_at(steps_.back().work.output);
}

at::Tensor Program::outputs_at(const float* data) const {
  const int64_t outputs = steps_.back().work.outputs;
  return memory_.narrow(0, data - memory_.const_data_ptr<float>(), examples_ * outputs)
      .view({examples_, outputs});
}

const at::Tensor& Program::forward(const at::Tensor& inputs) {
  for (auto& [node, work, trained, sums] : steps_) {
    if (node.input == kModelInput) work.input = inputs.const_data_ptr<float>();
    if (node.with == kModelInput) work.with = inputs.const_data_ptr<float>();
    const Recorded recorded(at::RecordScope::FUNCTION, node, *work.layer);
    node.passes->forward(work);
  }
  return outputs_;
}

void Program::backward(bool adds, const GradientReady& ready) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto& [node, work, trained, sums] = *step;
    const bool is_needed = work.input_gradient != nullptr || work.with_gradient != nullptr;
    if (!is_needed && work.weight_gradient == nullptr) continue;
    const Recorded recorded(at::RecordScope::BACKWARD_FUNCTION, node, *work.layer);
    if (work.weight_gradient != nullptr) node.passes->backward_weights(work, adds);
    for (const size_t number : trained) {
      if (ready) ready(number);
    }
    if (is_needed) node.passes->backward_input(work);
    for (float* const sum : sums) accumulate(examples_ * work.inputs, addend_, sum);
  }
}

std::string reason_not_to_compile(const std::vector<PlacedLayer>& layers, const std::string& dtype,
                                  const TrainSpec& train, size_t first) {
  if (train.step == "eager") return "train.step: eager";
  if (dtype != "float32") return fmt::format("model.dtype: {}", dtype);
  if (train.precision != "float32") return fmt::format("train.precision: {}", train.precision);
  for (size_t i = first; i < layers.size();) {
    const LayerMatch match = match_layers(layers, i);
    const bool learns = layers[i].parameters > 0;
    if (match.passes == nullptr || (learns && match.passes->backward_weights == nullptr))
      return fmt::format("layer {} ({}) has no compiled form", layers[i].name, layers[i].spec.kind);
    i += match.layers;
  }
  for (const Node& node : nodes_of(layers, first, /*training=*/true)) {
    if (node.readers == 0) return fmt::format("nothing uses what layer {} makes", layers[node.end - 1].name);
  }
  return "";
}

}  // namespace dtrain
