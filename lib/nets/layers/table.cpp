#include "layers/table.h"

namespace dtrain {

const std::vector<const LayerKind*>& shipped_layers() {
  // clang-format off
  static const std::vector<const LayerKind*> kinds = {
      &kConv2d, &kMaxPool2d, &kAvgPool2d, &kGlobalAvgPool2d, &kAdaptiveAvgPool2d, &kFlatten, &kDense, &kRelu, &kRelu6,
      &kGelu, &kSilu, &kTanh, &kSigmoid, &kBatchNorm, &kLayerNorm, &kGroupNorm, &kDropout, &kStochasticDepth, &kAdd,
      &kPatchEmbedding, &kClassToken, &kPositionalEmbedding, &kAttention, &kFirstToken};
  // clang-format on
  return kinds;
}

}  // namespace dtrain
