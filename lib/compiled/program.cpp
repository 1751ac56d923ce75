#include "compiled/program.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "models/shapes.h"
#include "models/variables.h"

namespace dtrain {
namespace {

constexpr int64_t kLine = 16;  // numbers in a cache line

// Every piece of memory begins a cache line.
int64_t whole_lines_of(int64_t numbers) { return (numbers + kLine - 1) / kLine * kLine; }

// Pieces of one memory, whose places are known when all have been asked for.
class Layout {
 public:
  // `place` gets the address of `numbers` numbers in allocate(), and must not move until then.
  void add(float** place, int64_t numbers) {
    pieces_.emplace_back(place, size_);
    size_ += whole_lines_of(numbers);
  }
  at::Tensor allocate() {
    at::Tensor memory =
        at::zeros({size_ + kLine}, at::kFloat);  // even a piece without numbers has an address
    for (const auto& [place, offset] : pieces_) *place = memory.mutable_data_ptr<float>() + offset;
    return memory;
  }

 private:
  std::vector<std::pair<float**, int64_t>> pieces_;
  int64_t size_ = 0;
};

// Shows the passes of a layer in profiles, as LibTorch shows its operations.
class Recorded {
 public:
  Recorded(at::RecordScope scope, const PlacedLayer& layer) : record_(scope) {
    if (record_.isActive()) record_.before(layer.name.c_str());
  }

 private:
  at::RecordFunction record_;
};

struct Parameter {
  at::Tensor values;
  float* gradient = nullptr;
  size_t number = 0;  // of the gradient
};

}  // namespace

std::vector<at::Tensor> allocate_gradients(const Model& model) {
  const std::vector<at::Tensor> parameters = tensors_of(trained_parameters(model));
  int64_t size = 0;
  for (const at::Tensor& parameter : parameters) size += whole_lines_of(parameter.numel());
  const at::Tensor memory = at::zeros({size}, at::kFloat);
  std::vector<at::Tensor> gradients;
  int64_t begin = 0;
  for (const at::Tensor& parameter : parameters) {
    gradients.push_back(memory.narrow(0, begin, parameter.numel()).view(parameter.sizes()));
    begin += whole_lines_of(parameter.numel());
  }
  return gradients;
}

int64_t numbers_of_example(const std::vector<PlacedLayer>& layers, size_t first, int64_t examples) {
  int64_t numbers = 0, scratch = 0;  // of the batch
  bool is_read = true;               // what is the next layer's input, by backward
  for (size_t i = first, next = i; i < layers.size(); i = next) {
    const auto [passes, together] = match_layers(layers, i);
    next = i + together;
    if (passes->forward == nullptr) continue;
    LayerWork work;
    work.layer = &layers[i];
    work.examples = examples;
    work.inputs = bounded_product(layers[i].input_shape);
    work.outputs = bounded_product(layers[next - 1].output_shape);
    const bool in_place = i > first && passes->in_place;
    if (!in_place || passes->reads_input || is_read) numbers += examples * work.outputs;
    if (!in_place) numbers += examples * work.outputs;  // the gradient
    if (passes->kept != nullptr) numbers += passes->kept(work);
    if (passes->scratch != nullptr) scratch = std::max(scratch, passes->scratch(work));
    is_read = passes->reads_output;
  }
  return (numbers + scratch + examples - 1) / examples;
}

Program::Program(const Model& model, int64_t examples, const std::vector<at::Tensor>& gradients)
    : examples_(examples) {
  add_layers(model, &gradients);
  lay_out_training();
}

Program::Program(const Model& model, int64_t examples) : examples_(examples) {
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
  for (size_t i = static_cast<size_t>(model.first_layer()), next = i; i < layers.size(); i = next) {
    const auto [passes, together] = match_layers(layers, i);
    next = i + together;
    if (passes->forward == nullptr || (gradients == nullptr && passes->only_in_training)) continue;
    const PlacedLayer& layer = layers[i];
    auto& [_, work, trained] = steps_.emplace_back(Step{passes, {}});
    work.layer = &layer;
    work.examples = examples_;
    work.inputs = bounded_product(layer.input_shape);
    work.outputs = bounded_product(layers[next - 1].output_shape);
    if (passes->backward_weights == nullptr) continue;
    const Parameter& weight = parameters[layer.name + ".weight"];
    const Parameter& bias = parameters[layer.name + ".bias"];  // undefined without one
    work.weight = weight.values;
    work.weight_gradient = weight.gradient;
    work.bias = bias.values;
    work.bias_gradient = bias.gradient;
    work.moving_mean = buffers[layer.name + ".running_mean"];  // undefined without one
    work.moving_variance = buffers[layer.name + ".running_var"];
    for (const Parameter* parameter : {&bias, &weight}) {
      if (parameter->gradient != nullptr) trained.push_back(parameter->number);
    }
  }
}

// The gradient of a value takes the place of the gradient of what a layer that works in place makes of it,
// and the value itself that of its result if no backward pass reads it.
void Program::lay_out_training() {
  Layout layout;
  float* scratch = nullptr;
  int64_t scratch_size = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto& [passes, work, trained] = steps_[i];
    const bool in_place =
        i > 0 && passes->in_place && !passes->reads_input && !steps_[i - 1].passes->reads_output;
    if (!in_place) layout.add(&work.output, examples_ * work.outputs);
    const bool passes_on = i + 1 < steps_.size() && steps_[i + 1].passes->in_place;
    if (!passes_on) layout.add(&work.output_gradient, examples_ * work.outputs);
    if (passes->kept != nullptr) layout.add(&work.kept, passes->kept(work));
    if (passes->scratch != nullptr) scratch_size = std::max(scratch_size, passes->scratch(work));
  }
  layout.add(&scratch, scratch_size);
  memory_ = layout.allocate();

  for (size_t i = 0; i < steps_.size(); ++i) {
    LayerWork& work = steps_[i].work;
    work.scratch = scratch;
    if (i > 0) work.input = steps_[i - 1].work.output;
    if (work.output == nullptr) work.output = steps_[i - 1].work.output;
  }
  for (size_t i = steps_.size() - 1; i > 0; --i) {
    float*& before = steps_[i - 1].work.output_gradient;
    if (before == nullptr) before = steps_[i].work.output_gradient;
  }
  bool is_needed = false;  // the gradient of a layer's input: by a trained layer before it
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (is_needed) steps_[i].work.input_gradient = steps_[i - 1].work.output_gradient;
    is_needed = is_needed || steps_[i].work.weight_gradient != nullptr;
  }
  outputs_ = outputs_at(steps_.back().work.output);
  output_gradient_ = outputs_at(steps_.back().work.output_gradient);
}

// Of each layer no more is needed than what it makes of the one before it: two places, in turn.
void Program::lay_out_evaluation() {
  Layout layout;
  std::array<float*, 2> places = {};
  float *kept = nullptr, *scratch = nullptr;
  int64_t place_size = 0, kept_size = 0, scratch_size = 0;
  for (const auto& [passes, work, trained] : steps_) {
    place_size = std::max(place_size, examples_ * work.outputs);
    if (passes->kept != nullptr) kept_size = std::max(kept_size, passes->kept(work));
    if (passes->scratch != nullptr) scratch_size = std::max(scratch_size, passes->scratch(work));
  }
  for (float*& place : places) layout.add(&place, place_size);
  layout.add(&kept, kept_size);
  layout.add(&scratch, scratch_size);
  memory_ = layout.allocate();

  size_t place = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    LayerWork& work = steps_[i].work;
    if (i > 0) work.input = steps_[i - 1].work.output;
    if (i > 0 && !steps_[i].passes->in_place) place = 1 - place;
    work.output = places.at(place);
    work.kept = kept;
    work.scratch = scratch;
  }
  outputs_ = outputs_at(steps_.back().work.output);
}

at::Tensor Program::outputs_at(const float* data) const {
  const int64_t outputs = steps_.back().work.outputs;
  return memory_.narrow(0, data - memory_.const_data_ptr<float>(), examples_ * outputs)
      .view({examples_, outputs});
}

const at::Tensor& Program::forward(const at::Tensor& inputs) {
  steps_.front().work.input = inputs.const_data_ptr<float>();
  for (const auto& [passes, work, trained] : steps_) {
    const Recorded recorded(at::RecordScope::FUNCTION, *work.layer);
    passes->forward(work);
  }
  return outputs_;
}

void Program::backward(bool adds, const GradientReady& ready) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const auto& [passes, work, trained] = *step;
    const Recorded recorded(at::RecordScope::BACKWARD_FUNCTION, *work.layer);
    if (work.weight_gradient != nullptr) passes->backward_weights(work, adds);
    for (const size_t number : trained) {
      if (ready) ready(number);
    }
    if (work.input_gradient == nullptr) break;  // of every layer before it, too
    passes->backward_input(work);
  }
}

}  // namespace dtrain
