#include "exported_models.h"

#include <ATen/ATen.h>

#include "architectures/architectures.h"
#include "catch.h"
#include "copied_variables.h"
#include "layers/table.h"
#include "models/layer_specs.h"
#include "models/model.h"
#include "models/variables.h"
#include "train/small_jobs.h"

namespace dtrain {

ExportedModel exported_model(const std::vector<LayerSpec>& layers, at::ScalarType type,
                             const std::vector<double>& mean) {
  const at::NoGradGuard no_grad;
  ExportedModel made;
  made.image = {2, 7, 8};
  made.plan = place_layers(layers, made.image, 3);
  REQUIRE(made.plan.problems.empty());
  made.data.image.mean.values = mean;
  made.data.standard_deviation = 0.353;
  const auto model = build_model(made.plan, type, 1);
  made.variables = copy_variables(*model);
  at::manual_seed(3);
  for (auto& [name, tensor] : made.variables)
    tensor.copy_(at::rand_like(tensor) - (name.find("var") < name.size() ? 0 : 0.5));
  write_variables(*model, made.variables);
  model->eval();
  made.images = at::randint(0, 256, {5, 2, 7, 8}, at::kByte);
  const at::Tensor centre = at::tensor(mean, type).view({1, -1, 1, 1});
  made.logits =
      model->forward(made.images.to(type).div_(255).sub_(centre).div_(made.data.standard_deviation));
  return made;
}

std::vector<LayerSpec> listed_layers(const std::string& list) {
  const LoadedSpec loaded =
      parse_spec("batch: {per_replica: 4}\nmodel: {kind: layers, layers: " + list + "}\n", "spec");
  INFO(problems_of(loaded));
  REQUIRE(loaded.ok());
  return loaded.spec.model.layers;
}

std::vector<LayerSpec> wide_resnet_layers() {
  ModelSpec spec;
  spec.kind = "wide_resnet";
  spec.depth = 16;
  spec.widen_factor = 1;
  spec.dropout = 0.3;
  return expand_layers(spec, 3);
}

std::vector<LayerSpec> transformer_layers() {
  return listed_layers(
      R"([{kind: conv2d, filters: 3, kernel_size: 2}, {kind: patch_embedding, patch: 1, units: 6},
      {kind: class_token}, {kind: positional_embedding, name: embedded}, {kind: layer_norm}, {kind: attention, heads: 3,
      dropout: 0.2}, {kind: stochastic_depth}, {kind: add, with: embedded, name: middle}, {kind: layer_norm},
      {kind: dense, units: 12, activation: gelu}, {kind: dense, units: 6, use_bias: false}, {kind: dropout},
      {kind: add, with: middle}, {kind: group_norm, groups: 2}, {kind: first_token}, {kind: dense, units: 3}])");
}

std::vector<std::vector<LayerSpec>> layers_of_each_kind() {
  std::vector<std::vector<LayerSpec>> lists;
  for (const LayerKind* shipped : shipped_layers()) {
    const std::string kind = shipped->name;
    const LayerSpec one = kind == "dense"        ? dense(3)
                          : kind == "conv2d"     ? conv2d(2)
                          : kind == "add"        ? add("flatten")
                          : kind == "group_norm" ? group_norm(4)
                                                 : layer(kind);
    const bool windowed = kind == "conv2d" || kind.find("pool2d") != std::string::npos;
    if (windowed)
      lists.push_back({one, layer("flatten"), dense(3)});
    else if (kind == "flatten")
      lists.push_back({one, dense(3)});
    else if (kind == "patch_embedding" || kind == "first_token")
      lists.push_back({patches(1, 4), layer("first_token"), dense(3)});
    else if (kind == "class_token" || kind == "positional_embedding" || kind == "attention")
      lists.push_back({patches(1, 4), kind == "attention" ? attention(2) : one, dense(3), layer("layer_norm"),
                       layer("flatten"), dense(3)});
    else
      lists.push_back({layer("flatten"), one, dense(3)});
  }
  return lists;
}

}  // namespace dtrain
