// Which layers of a model count as one, compared with timm's rules for vision transformers and ResNets.
#include "models/variables.h"

#include <numeric>
#include <regex>
#include <set>

#include "architectures/architectures.h"
#include "catch.h"
#include "models/layer_specs.h"

namespace dtrain {
namespace {

using Depths = std::vector<int64_t>;

LayerPlan placed_model(const ModelSpec& spec, const Shape& image) {
  LayerPlan plan = place_layers(expand_layers(spec, 10), image, 10);
  REQUIRE(plan.problems.empty());
  return plan;
}

// timm's number of a layer of this name in torchvision: the stem is 0, each block has one (in a ResNet
// blocks[0] is how many the first stage has, and so on), the norm after the last block that of this block,
// and the head the last.
int64_t number_of_timm(const std::string& name, const Depths& blocks) {
  std::smatch found;
  if (std::regex_match(name, std::regex("(conv1|bn1|conv_proj|class_token|encoder.pos_embedding)"))) return 0;
  if (std::regex_search(name, found, std::regex("encoder_layer_(\\d+)"))) return std::stol(found[1]) + 1;
  if (name == "encoder.ln") return 12;
  if (std::regex_search(name, found, std::regex("^layer(\\d)\\.(\\d+)"))) {
    int64_t number = std::stol(found[2]) + 1;
    for (int64_t stage = 1; stage < std::stol(found[1]); ++stage)
      number += blocks[static_cast<size_t>(stage - 1)];
    return number;
  }
  CHECK((name == "heads.head" || name == "fc"));
  return std::accumulate(blocks.begin(), blocks.end(), int64_t{1});
}

TEST_CASE("the blocks of a mobilenet_v2 without a shortcut count by convolution") {
  ModelSpec spec;
  spec.kind = "mobilenet_v2";
  CHECK(layer_depths(placed_model(spec, {3, 64, 64}).layers).back() == 33 - 1);
}

TEST_CASE("layers of vision transformers and ResNets have the numbers of timm's groups") {
  struct Model {
    const char* kind;
    std::optional<int64_t> depth;
    Depths blocks;
  };
  const Model model = GENERATE(Model{"vit", {}, {12}}, Model{"resnet", 18, {2, 2, 2, 2}},
                               Model{"resnet", 50, {3, 4, 6, 3}}, Model{"wide_resnet", 50, {3, 4, 6, 3}});
  INFO(model.kind);
  ModelSpec spec;
  spec.kind = model.kind;
  spec.depth = model.depth;
  if (spec.kind == "vit") spec.dropout = GENERATE(0.0, 0.1);
  const Architecture architecture = architecture_of(spec, 10);
  const LayerPlan plan = placed_model(spec, {3, 64, 64});
  const Depths depths = layer_depths(plan.layers);
  REQUIRE(architecture.torchvision.size() == plan.layers.size());
  std::set<int64_t> groups;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    if (plan.layers[i].parameters == 0) continue;
    INFO(architecture.torchvision[i]);
    CHECK(depths[i] == number_of_timm(architecture.torchvision[i], model.blocks));
    groups.insert(depths[i]);
  }
  if (spec.kind == "vit") CHECK(groups.size() == 13 + 1);
}

TEST_CASE("without shortcuts each layer with products counts, with the norms after it") {
  const auto depths_of = [](const std::vector<LayerSpec>& layers) {
    return layer_depths(place_layers(layers, {3, 8, 8}, 5).layers);
  };
  CHECK(depths_of({layer("batch_norm"), conv2d(4), layer("batch_norm"), layer("relu"), conv2d(4),
                   layer("flatten"), dense(12), layer("layer_norm"), dense(5)}) ==
        Depths{0, 0, 0, 0, 1, 1, 2, 2, 3});
  // Shortcuts that cross each other.
  CHECK(depths_of({layer("flatten"), named(dense(6), "a"), dense(6), named(add("a"), "b"), dense(6), add("b"),
                   dense(6), add("a"), dense(5)}) == Depths{0, 0, 1, 1, 1, 1, 1, 1, 2});
}

TEST_CASE("a sum with attention and the next sum are one block, and others are not") {
  const std::vector<LayerSpec> layers = {named(patches(4, 8), "x"),
                                         attention(2),
                                         named(add("x"), "y"),
                                         dense(8),
                                         named(add("y"), "z"),
                                         dense(8),
                                         named(add("z"), "more"),
                                         attention(2),
                                         dense(8),
                                         layer("first_token"),
                                         dense(5)};
  CHECK(layer_depths(place_layers(layers, {3, 8, 8}, 5).layers) == Depths{0, 1, 1, 1, 1, 2, 2, 3, 4, 4, 5});
}

TEST_CASE("a parameter's factor is the decay to the power of the layers after its own") {
  const LayerPlan plan =
      place_layers({layer("flatten"), dense(4), layer("layer_norm"), dense(3), dense(5)}, {3}, 5);
  const auto model = build_model(plan, at::kFloat, 1);
  CHECK(layer_factors(*model, trained_parameters(*model), 1).empty());
  CHECK(layer_factors(*model, trained_parameters(*model), 0.5) ==
        std::vector<double>{0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 1, 1});
  model->train_layers({.each = {false, false, false, true, true}});
  CHECK(layer_factors(*model, trained_parameters(*model), 0.5) == std::vector<double>{0.5, 0.5, 1, 1});
}

}  // namespace
}  // namespace dtrain
