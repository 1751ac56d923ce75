// The kinds of layers that dtrain has: a file of this folder describes one, or several that are much alike.
#pragma once

#include <vector>

#include "models/layer_kinds.h"

namespace dtrain {

extern const LayerKind kConv2d, kMaxPool2d, kAvgPool2d, kGlobalAvgPool2d, kAdaptiveAvgPool2d, kFlatten,
    kDense, kRelu, kRelu6, kGelu, kSilu, kTanh, kSigmoid, kBatchNorm, kLayerNorm, kGroupNorm, kDropout,
    kStochasticDepth, kAdd, kPatchEmbedding, kClassToken, kPositionalEmbedding, kAttention, kFirstToken;

// For add_layer_kinds().
inline const std::vector<const LayerKind*>& shipped_layers() {
  // clang-format off
  static const std::vector<const LayerKind*> kinds = {
      &kConv2d, &kMaxPool2d, &kAvgPool2d, &kGlobalAvgPool2d, &kAdaptiveAvgPool2d, &kFlatten, &kDense, &kRelu, &kRelu6,
      &kGelu, &kSilu, &kTanh, &kSigmoid, &kBatchNorm, &kLayerNorm, &kGroupNorm, &kDropout, &kStochasticDepth, &kAdd,
      &kPatchEmbedding, &kClassToken, &kPositionalEmbedding, &kAttention, &kFirstToken};
  // clang-format on
  return kinds;
}

}  // namespace dtrain
