// A model's forward and backward pass as a list of calls over memory that is laid out once.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiled/graph.h"
#include "models/layers.h"
#include "models/model.h"
#include "spec/spec.h"

namespace dtrain {

// The gradients of a model's trained parameters: one tensor for each, in the model's order, all in one
// memory.
std::vector<at::Tensor> allocate_gradients(const Model& model);

// The profiles' name of the pass that turns around this layer's images; null: those of the model's input.
std::string name_of_turning(const PlacedLayer* layer);

// How many numbers a program for training lays out for each example of a batch of `examples` (at least 1).
// The layers from `first` on must be such that can be compiled.
int64_t numbers_of_example(const std::vector<PlacedLayer>& layers, size_t first, int64_t examples);
// The same of a program for evaluation, about.
int64_t numbers_of_evaluated(const std::vector<PlacedLayer>& layers, size_t first, int64_t examples);

// Why a step of this model on a processor is not compiled; empty: it is. `dtype` is the spec's model.dtype;
// `first`: the first of the layers that a step computes.
std::string reason_not_to_compile(const std::vector<PlacedLayer>& layers, const std::string& dtype,
                                  const TrainSpec& train, size_t first = 0);

// Called with a trained parameter's number, in the order of allocate_gradients().
using GradientReady = std::function<void(size_t)>;

// The passes over a batch of `examples`, without autograd. Memory for values is laid out once; some kinds of
// layers call LibTorch's functions, which allocate what they need. The model is one for which
// reason_not_to_compile() is empty. If it is synchronised (Model::synchronise), both passes are collective.
class Program {
 public:
  // For training. Gradients of the trained parameters go to `gradients`. It and the model must outlive the
  // program, which uses `memory`, that of another program, if that is large enough: only one of them may be
  // between forward() and the end of backward().
  Program(const Model& model, int64_t examples, const std::vector<at::Tensor>& gradients,
          at::Tensor memory = {});
  // For evaluation: without dropout, and forward() only.
  Program(const Model& model, int64_t examples, at::Tensor memory = {});

  // `inputs`: [examples, the input shape of the model's first layer], which must last until backward().
  // Returns the outputs, [examples, outputs], a view of the program's memory.
  const at::Tensor& forward(const at::Tensor& inputs);
  // Where the caller of backward() writes the gradient of the outputs.
  const at::Tensor& output_gradient() const { return output_gradient_; }
  // `adds`: the gradients of the parameters are added to what is there. Tells `ready`, unless it is empty, of
  // each parameter's gradient when it is complete, those of the last layer first. Destroys outputs and their
  // gradient.
  void backward(bool adds, const GradientReady& ready = {});
  const at::Tensor& memory() const { return memory_; }

 private:
  struct Step {
    Node node;
    LayerWork work;
    std::vector<size_t> trained = {};  // the numbers of its trained parameters
    // Gradients of values that several steps read: what backward makes in `addend_` is added to each.
    std::vector<float*> sums = {};
  };

  // `gradients` is null in evaluation.
  void add_layers(const Model& model, const std::vector<at::Tensor>* gradients);
  void lay_out_training();
  void lay_out_evaluation();
  void find_inputs();
  void find_input_gradients();
  float* place_for_gradient(int64_t of, size_t reader);
  at::Tensor outputs_at(const float* data) const;  // [examples, outputs]

  std::vector<Step> steps_;  // of the layers that compute something: flatten does not
  int64_t examples_;
  float* addend_ = nullptr;  // [examples, as many as the largest value that several steps read]
  at::Tensor memory_;        // of all values between layers, their gradients and what layers keep
  at::Tensor outputs_;
  at::Tensor output_gradient_;
};

}  // namespace dtrain
