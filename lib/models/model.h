// LibTorch modules built from a list of placed layers.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/layers.h"
#include "models/synchronised_norm.h"

namespace dtrain {

// Layers from input to output, each fed by the one before it or by the one that it names. forward: [n, input
// shape] -> logits [n, classes].
class Model : public torch::nn::Module {
 public:
  virtual at::Tensor forward(at::Tensor input) = 0;
  // From now on batch_norm in training goes by the statistics of all replicas' batches together. Each replica
  // then has to make the same forward and backward passes, with empty batches if need be.
  virtual void synchronise(const GatherRows& gather) = 0;
};

// Builds the modules and initialises them from `seed` alone: the same seed gives the same bits on every
// machine, whatever the number of replicas. `plan` has no problems.
std::shared_ptr<Model> build_model(const LayerPlan& plan, at::ScalarType dtype, uint64_t seed);

// The same modules with variables of LibTorch's meta device, which have names, types and sizes but no memory:
// what others' variables are compared with before anything is allocated.
std::shared_ptr<Model> outline_model(const LayerPlan& plan, at::ScalarType dtype);

// Puts the kernels of convolutions in the order in memory that images of channels_last have. Otherwise a
// device turns them round in every step, and their gradients back. Before the first use of the parameters.
void lay_channels_last(Model& model);

// "float32" -> at::kFloat, "float64" -> at::kDouble.
at::ScalarType dtype_from_name(const std::string& name);

}  // namespace dtrain
