// The published networks but LeNet, each in two parts: its base, which makes feature maps of an image, and
// its top, which makes `outputs` numbers of them. named.cpp has the table of them.
#pragma once

#include "architectures/layer_list.h"

namespace dtrain {

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
