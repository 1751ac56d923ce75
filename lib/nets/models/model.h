// LibTorch modules built from a list of placed layers.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/batch_statistics.h"
#include "models/layers.h"

namespace dtrain {

// Which layers are trained and computed in a phase of the training.
struct TrainedLayers {
  std::vector<bool> each = {};  // by layer; empty: all
  int64_t first = 0;  // forward() begins with this layer, and gets its input, which the layers before it made
};

// Layers from input to output. The input of each is the output of the layer before it, or of the layer that
// it names. forward: [n, input shape] -> logits [n, classes].
class Model : public torch::nn::Module {
 public:
  virtual at::Tensor forward(at::Tensor input) = 0;
  // From now on, batch_norm uses the statistics of all replicas' batches together in training. Every replica
  // must then make the same forward and backward passes, with empty batches if necessary.
  virtual void synchronise(const GatherRows& gather) = 0;
  // What synchronise() was given; empty: batch_norm uses the statistics of this replica's batch.
  const GatherRows& gathering() const { return gather_; }
  // From now on, trains these layers. The parameters of the others need no gradient, and a batch_norm among
  // them uses its moving statistics in training too, and keeps them. All layers before `layers.first` must be
  // frozen, and later layers may use only the output of these as a whole.
  virtual void train_layers(const TrainedLayers& layers) = 0;
  // The output of the first `layers` layers for `input`, in evaluation mode and without gradients.
  virtual at::Tensor features(at::Tensor input, int64_t layers) = 0;
  // The layer that forward() begins with.
  int64_t first_layer() const { return first_; }
  // The layers that it was built from.
  const std::vector<PlacedLayer>& layers() const { return placed_; }
  // The buffers that training changes, by name: the moving statistics of layers whose parameters are trained.
  virtual std::vector<std::pair<std::string, at::Tensor>> moving_buffers() const;
  int64_t outputs() const { return outputs_of(layers().back().output_shape); }

 protected:
  explicit Model(std::vector<PlacedLayer> placed) : placed_(std::move(placed)) {}

  std::vector<PlacedLayer> placed_;
  int64_t first_ = 0;
  GatherRows gather_;
};

// A model that is no list of layers.
class ModelProgram {
 public:
  virtual ~ModelProgram() = default;
  // With the variables that it comes with, or initial ones that depend on the seed alone. Throws
  // Error(kUsage) with what is wrong.
  virtual std::shared_ptr<Model> build(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed) const = 0;
};

// Builds the modules and initialises them from `seed` alone: the same seed gives the same bits on every
// machine, whatever the number of replicas. `plan` must have no problems.
std::shared_ptr<Model> build_model(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed);

// The same modules on LibTorch's meta device: their variables have names, types and sizes but no memory.
// Saved variables are compared with them before anything is allocated.
std::shared_ptr<Model> outline_model(const LayerPlan& plan, at::ScalarType dtype);

// Stores the kernels of convolutions in the channels_last memory format, like the images. Otherwise the
// device converts the kernels in every step and converts their gradients back. Call this before the first use
// of the parameters.
void lay_channels_last(Model& model);

// "float32" -> at::kFloat, "float64" -> at::kDouble.
at::ScalarType dtype_from_name(const std::string& name);

}  // namespace dtrain
