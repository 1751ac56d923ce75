// Models that are no list of layers: modules within modules, whose variables keep the names that they have
// there, and which are trained or frozen by the module.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/model.h"

namespace dtrain {

struct PartVariable {
  std::string name;  // within its module
  at::Tensor tensor;
  bool is_parameter = false;
  bool learns = false;  // a parameter that is trained
};

// A module within the whole.
struct ModelPart {
  std::string name;                     // "layer1.0.conv1"; empty: the whole
  std::vector<PartVariable> variables;  // its own, without those that an earlier part has too
};

// The part as a plan lists it: a layer of kProgramPart, without shapes.
PlacedLayer placed_part(const ModelPart& part);

// Of all modules within a whole, those that have variables, and the whole itself.
template <class Part>
std::vector<Part> placed_parts(const std::vector<Part>& all) {
  std::vector<Part> placed;
  for (const Part& part : all) {
    if (!part.variables.empty() || part.name.empty()) placed.push_back(part);
  }
  return placed;
}

// A plan with nothing but a problem.
LayerPlan plan_with_problem(const std::string& text);

class PartsModel : public Model {
 public:
  void train(bool on) override;
  void train_layers(const TrainedLayers& layers) override;
  std::vector<std::pair<std::string, at::Tensor>> moving_buffers() const override;
  // A batch without examples is not computed: many modules would fail. In training, the output depends on
  // every trained parameter, perhaps with gradients of zero: replicas wait for the gradient of each.
  at::Tensor forward(at::Tensor input) override;
  // The parts that this model has.
  const std::vector<ModelPart>& parts() const { return parts_; }
  void synchronise(const GatherRows&) override;
  at::Tensor features(at::Tensor, int64_t) override;

 protected:
  // `placed`: of placed_parts(`all`), which are all modules within the whole, each once, in any order.
  // `moving`: the names of those whose buffers a pass in training changes.
  PartsModel(std::vector<PlacedLayer> placed, const std::vector<ModelPart>& all,
             std::set<std::string> moving);

  // The output [n, ...] for `input`, n > 0.
  virtual at::Tensor compute(const at::Tensor& input) = 0;
  // Sets a module of `all` to training or evaluation, after the modules that contain it.
  virtual void set_training(const std::string& part, bool on) = 0;

 private:
  std::set<std::string> frozen_parts() const;

  std::vector<ModelPart> parts_;  // as placed
  std::vector<std::string> all_;  // the names of all modules, each after the one that contains it
  std::set<std::string> moving_;
  std::vector<bool> is_trained_;  // of each part
};

// Whether this is the text of LibTorch's error that it lacks memory: not all have a type of their own.
bool is_lack_of_memory(const std::string& error);

// Restores LibTorch's default generator of processors.
class KeptGenerator {
 public:
  KeptGenerator();
  ~KeptGenerator();
  KeptGenerator(KeptGenerator&&) = delete;  // nor copied

 private:
  at::Tensor state_;
};

// Registers the variables of these parts in a module without any.
void register_parts(torch::nn::Module& whole, const std::vector<ModelPart>& parts);

// The output, made to depend on each of these tensors that requires a gradient, with gradients of zero.
at::Tensor depending_on(const at::Tensor& output, const std::vector<at::Tensor>& needed);

// Inputs of [examples, shape]: numbers from 0 to 1. They differ, so that a pass in training moves moving
// averages. As whole numbers, even an embedding of two accepts them.
at::Tensor example_batch(int64_t examples, const Shape& shape, at::ScalarType dtype);

// What passes of `compute` change and give, on one thread; afterwards the default generator is as before.
struct Trial {
  bool is_same_in_evaluation = true;  // passes in evaluation mode give the same, and change no buffer
  std::set<std::string> moving;       // the parts whose buffers a pass in training changes
  Shape output;                       // of one example
};
Trial try_model(Model& model, const std::vector<ModelPart>& parts, const Shape& input, at::ScalarType dtype);

}  // namespace dtrain
