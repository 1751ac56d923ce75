// The interface of a kind of layer. Each kind is described once, in a file of the room `layers`; the
// functions that build, compile, export and lower a model look its layers up here.
#pragma once

#include <torch/nn/module.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "models/batch_statistics.h"
#include "models/initializers.h"
#include "models/shapes.h"

namespace dtrain {

// The module of a layer. forward: [n, layer's input shape] -> [n, layer's output shape]; n may be 0.
class Layer : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& input) = 0;
  // From now on, batch statistics are computed over all replicas' batches together.
  virtual void synchronise(const GatherRows& /*gather*/) {}
  // Whether it keeps its moving statistics in training, too, and uses them. At first it does not.
  virtual void freeze(bool /*frozen*/) {}
  // Whether training changes this buffer, so that replicas have others of their own.
  virtual bool moves(const std::string& /*buffer*/) const {
    const std::vector<at::Tensor> all = parameters();
    return !all.empty() && all.front().requires_grad();
  }
  // From now on, forward() only adds to `all`, which must outlive the layer's use; the caller of forward()
  // then updates the moving averages with all.move().
  virtual void leave_statistics_to(MovingStatistics& /*all*/) {}
};

struct LayerMatch;    // compiled/layer_passes.h
struct LayerPasses;   // the same
class OnnxGraph;      // export/layer_exports.h
class ScriptNames;    // the same
struct LayerUse;      // stablehlo/model_lowering.h
struct LoweredLayer;  // the same

// Every kind has a name, `place`, and `make` or `combine`. Whatever else it lacks is null or false: a model
// with such a layer trains eagerly, and whatever needs the missing part refuses the model and names the
// layer.
struct LayerKind {
  const char* name = "";

  // How a model is built.
  LayerSizes (*place)(const LayerSpec& spec, const Shape& input) = nullptr;
  std::shared_ptr<Layer> (*make)(const PlacedLayer& layer, WeightMaker& weights) = nullptr;
  // One module for this layer and the next, which alone reads its output; null where there is none for both.
  std::shared_ptr<Layer> (*make_with_next)(const PlacedLayer& next) = nullptr;
  // For a kind whose PairFields name a second input: what it computes instead of a module, and what is wrong
  // with its inputs, or "" (`with` is null if the spec names none).
  at::Tensor (*combine)(const at::Tensor& input, const at::Tensor& with) = nullptr;
  std::string (*pair_problem)(const LayerSpec& spec, const Shape& input, const Shape* with) = nullptr;

  // For plans.
  double (*operations)(const PlacedLayer& layer) = nullptr;  // as LayerOperations::forward; null: 0
  // How many numbers of an example autograd keeps beside the layer's output; null: none.
  int64_t (*keeps)(const PlacedLayer& layer) = nullptr;
  bool (*draws)(const LayerSpec& spec) = nullptr;  // whether it draws numbers in training; null: never
  bool mixes_examples = false;                     // in training an output depends on other examples' inputs
  bool is_view = false;                            // its output is its input's memory
  bool is_half_block = false;  // what it is added to, and the sum after that, are one block (layer_depths())

  // A compiled step. `match` finds passes that fit this very layer better, or it and those after it at once.
  const LayerPasses* passes = nullptr;
  LayerMatch (*match)(const std::vector<PlacedLayer>& layers, size_t first) = nullptr;

  // Exports: the nodes of ONNX, and an expression of x, the input, in TorchScript (empty: x itself).
  void (*onnx)(OnnxGraph& graph, const PlacedLayer& layer) = nullptr;
  std::string (*torchscript)(const PlacedLayer& layer, const ScriptNames& names) = nullptr;

  // StableHLO.
  LoweredLayer (*lower)(const LayerUse& use) = nullptr;
  bool rounds = false;  // it computes in bf16 too (ModelScope::products); others in the model's element
  bool slow_in_loops = false;  // of XLA's programs for processors: far slower in a loop of steps
};

// The kind of placed layers that stand for modules of a ModelProgram. A spec has no layer of this kind.
extern const LayerKind kProgramPart;

// Adds kinds that models may have. A program does so once, before it reads a spec.
void add_layer_kinds(const std::vector<const LayerKind*>& kinds);

// The kind of this name, or nullptr.
const LayerKind* find_layer_kind(const std::string& name);

// The kind of a placed layer.
const LayerKind& kind_of(const PlacedLayer& layer);

// How much a layer computes: floating-point operations, products and sums, of matrix products and
// convolutions for one example; 0 of a layer that has none. Backward computes as many as forward for the
// gradient of the weights, and again for that of the input if a layer before has weights.
struct LayerOperations {
  double forward = 0;
  double backward = 0;
};

LayerOperations operations_of(const std::vector<PlacedLayer>& layers, size_t number);

}  // namespace dtrain
