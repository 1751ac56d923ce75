// Models for the tests of exports, with what dtrain itself computes with them.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "models/layers.h"
#include "safetensors/safetensors.h"
#include "spec/spec.h"

namespace dtrain {

struct ExportedModel {
  LayerPlan plan;
  DataSpec data;
  Shape image;
  NamedTensors variables;  // at random: moving statistics too are those of no beginner
  at::Tensor images;       // a few, uint8
  at::Tensor logits;       // what dtrain makes of them
};

// A model of 3 classes over images of [2, 7, 8]: rows need other padding than columns. `type` is that of its
// variables, `mean` the numbers that are subtracted from its pixels.
ExportedModel exported_model(const std::vector<LayerSpec>& layers, at::ScalarType type,
                             const std::vector<double>& mean = {0.286});

// The layers of a list as specs have it: "[{kind: flatten}, {kind: dense, units: 3}]".
std::vector<LayerSpec> listed_layers(const std::string& list);

// Of the smallest wide_resnet for small images, with dropout.
std::vector<LayerSpec> wide_resnet_layers();

// Of a small vision transformer: one block.
std::vector<LayerSpec> transformer_layers();

// For each kind of layer that is built a model with one.
std::vector<std::vector<LayerSpec>> layers_of_each_kind();

}  // namespace dtrain
