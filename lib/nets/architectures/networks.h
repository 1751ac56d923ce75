// The published networks but LeNet, each in two parts: its base, which makes feature maps of an image, and
// its top, which makes `outputs` numbers of them. named.cpp has the table of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/layer_kinds.h"

namespace dtrain {

// A list of layers while it is written.
// `torchvision` is torchvision's name of the layer; it stays empty where there is none.
class LayerList {
 public:
  explicit LayerList(const ModelSpec& model) : model_(model) {}

  const ModelSpec& model() const { return model_; }
  int64_t depth() const;  // of a model that has one: the spec's, or the kind's usual one

  void add(const LayerSpec& layer, const std::string& torchvision = "");
  void add(const std::string& kind);  // with the kind's defaults
  void add_pool(const std::string& kind, int64_t size, int64_t stride, const std::string& padding);
  void add_sum(const std::string& with);
  void add_dense(int64_t units, const std::string& torchvision = "");
  void add_dropout();  // with the model's rate, if it has one
  // Over symmetrically padded images, with the model's initializer. `from`: the layer whose output it reads.
  void add_convolution(ConvFields own, const std::string& torchvision = "",
                       const std::optional<std::string>& from = std::nullopt);
  // With torchvision's numbers, which are ResNet's of 2016.
  void add_batch_norm(const std::string& torchvision = "");

  // Gives the last layer a name, which others may use.
  void name_last(const std::string& name) { layers_.back().name = name; }

  const std::vector<LayerSpec>& layers() const { return layers_; }
  const std::vector<std::string>& torchvision() const { return torchvision_; }

 private:
  const ModelSpec& model_;
  std::vector<LayerSpec> layers_;
  std::vector<std::string> torchvision_;
};

void vgg_base(LayerList& list);
void vgg_top(LayerList& list, int64_t outputs);

void resnet_base(LayerList& list);
void wide_resnet_base(LayerList& list);
void cifar_resnet_base(LayerList& list);
void resnet_top(LayerList& list, int64_t outputs);  // of all three

// The wide_resnet of 16, 22, 28 or 40 layers, and whether the model is one.
void widened_resnet_base(LayerList& list);
bool is_widened(const LayerList& list);

void mobilenet_v2_base(LayerList& list);
void mobilenet_v2_top(LayerList& list, int64_t outputs);

void vit_base(LayerList& list);  // ends with the features of the class token
void vit_top(LayerList& list, int64_t outputs);

}  // namespace dtrain
