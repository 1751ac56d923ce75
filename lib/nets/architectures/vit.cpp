// Vision transformers: Dosovitskiy et al. 2021, An Image is Worth 16x16 Words (arXiv:2010.11929), table 1, as
// in torchvision, whose vit_b_16 is `base`. Tiny and small are those of Touvron et al. 2021, Training
// Data-Efficient Image Transformers (arXiv:2012.12877), table 1.
#include <fmt/format.h>

#include "architectures/networks.h"

namespace dtrain {
namespace {

constexpr int64_t kBlocks = 12;
constexpr int64_t kFeaturesOfHead = 64;

void vit_norm(LayerList& list, const std::string& torchvision) {
  list.add({.kind = "layer_norm", .own = NormFields{.epsilon = 1e-6}}, torchvision);
}

// Attention and two dense layers, each of which adds to what it gets. Returns its name.
std::string vit_block(LayerList& list, int64_t number, int64_t features, const std::string& input) {
  const std::string torchvision = fmt::format("encoder.layers.encoder_layer_{}.", number - 1);
  const std::string name = fmt::format("block{}", number), middle = name + "_middle";
  vit_norm(list, torchvision + "ln_1");
  list.add({.kind = "attention", .own = AttentionFields{.heads = features / kFeaturesOfHead}},
           torchvision + "self_attention");
  list.add_dropout();
  list.add_sum(input);
  list.name_last(middle);
  vit_norm(list, torchvision + "ln_2");
  list.add_dense(4 * features, torchvision + "mlp.0");
  list.add("gelu");
  list.add_dropout();
  list.add_dense(features, torchvision + "mlp.3");
  list.add_dropout();
  list.add_sum(middle);
  list.name_last(name);
  return name;
}

}  // namespace

void vit_base(LayerList& list) {
  const ModelSpec& model = list.model();
  const int64_t features = model.size == "tiny" ? 192 : model.size == "small" ? 384 : 768;
  list.add({.kind = "patch_embedding", .own = PatchFields{.patch = model.patch, .units = features}},
           "conv_proj");
  list.add({.kind = "class_token"}, "class_token");
  list.add({.kind = "positional_embedding"}, "encoder.pos_embedding");
  list.add_dropout();
  std::string last = "embedded";
  list.name_last(last);
  for (int64_t number = 1; number <= kBlocks; ++number) last = vit_block(list, number, features, last);
  vit_norm(list, "encoder.ln");
  list.add("first_token");
}

// As in torchvision, the last weights begin with zeros.
void vit_top(LayerList& list, int64_t outputs) {
  list.add({.kind = "dense", .own = DenseFields{.units = outputs, .initializer = "zeros"}}, "heads.head");
  list.name_last("head");
}

}  // namespace dtrain
