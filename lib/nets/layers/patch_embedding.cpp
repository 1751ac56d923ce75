// patch_embedding: images as tokens, one for each patch: a convolution whose stride is its kernel
// (Dosovitskiy et al. 2021, arXiv:2010.11929, section 3.1). As in torchvision's models/vision_transformer.py,
// `weight` [units, channels, patch, patch] begins with a deviation of 1 / sqrt(numbers of a patch), here cut
// at two deviations as all normal distributions, and `bias` with zeros.
#include <ATen/ops/conv2d.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layers/tokens.h"
#include "layers/windows.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

const PatchFields& patch_fields(const PlacedLayer& layer) { return layer.spec.own.get<PatchFields>(); }

std::string patches_problem(int64_t patch, const Shape& image) {
  const int64_t sides = std::gcd(image[1], image[2]);
  if (sides % patch == 0) return "";
  int64_t fits = std::min(patch, sides);
  while (sides % fits != 0) --fits;
  return fmt::format(
      "its patches of {0}x{0} pixels do not fill its input {1}; use a patch that divides its height and "
      "width, such as {2}, or images of another size (data.image.size)",
      patch, to_string(image), fits);
}

LayerSizes place_patch_embedding(const LayerSpec& spec, const Shape& input) {
  const auto& own = spec.own.get<PatchFields>();
  auto problem = image_problem(input);
  if (problem.empty()) problem = range_problem("patch", own.patch);
  if (problem.empty()) problem = range_problem("units", own.units);
  if (problem.empty()) problem = patches_problem(own.patch, input);
  if (!problem.empty()) return fault(problem);
  return {{input[1] / own.patch * (input[2] / own.patch), own.units},
          bounded_product({own.units, bounded_product({input[0], own.patch, own.patch}) + 1})};
}

class PatchEmbedding final : public Weighted {
 public:
  PatchEmbedding(const PlacedLayer& layer, WeightMaker& weights)
      : PatchEmbedding(patch_fields(layer), layer.input_shape[0], weights) {}
  at::Tensor forward(const at::Tensor& input) override {
    const at::Tensor patches = at::conv2d(input, weight_, bias_, /*stride=*/{patch_, patch_});
    return patches.flatten(2).transpose(1, 2).contiguous();
  }

 private:
  PatchEmbedding(const PatchFields& own, int64_t channels, WeightMaker& weights)
      : Weighted(weights.normal({own.units, channels, own.patch, own.patch},
                                1 / std::sqrt(static_cast<double>(channels * own.patch * own.patch))),
                 weights.constant({own.units}, 0)),
        patch_(own.patch) {}
  int64_t patch_;
};

double operations_of_patch_embedding(const PlacedLayer& layer) {
  return 2 * static_cast<double>(bounded_product(layer.input_shape)) *
         static_cast<double>(layer.output_shape[1]);
}

void patch_embedding_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const int64_t patch = patch_fields(layer).patch;
  graph.add("Conv", layer.name + ".patches", graph.weights(layer),
            onnx_window(window_over(patch, patch, "valid", layer.input_shape)));
  onnx_reshape(graph, layer.name + ".columns", {layer.output_shape[1], layer.output_shape[0]});
  graph.add("Transpose", layer.name, {}, {onnx_attribute("perm", std::vector<int64_t>{0, 2, 1})});
}

std::string patch_embedding_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  return fmt::format("torch.transpose(torch.flatten(torch.conv2d(x, {}, {}, {}), 2), 1, 2)",
                     names(layer, "weight"), names(layer, "bias"), script_pair(patch_fields(layer).patch));
}

}  // namespace

const LayerKind kPatchEmbedding = {.name = "patch_embedding",
                                   .place = place_patch_embedding,
                                   .make = make_module<PatchEmbedding>,
                                   .operations = operations_of_patch_embedding,
                                   .onnx = patch_embedding_onnx,
                                   .torchscript = patch_embedding_torchscript};

}  // namespace dtrain
