#include "export/exports.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/import.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bare_layer.h"
#include "catch.h"
#include "copied_variables.h"
#include "core/error.h"
#include "exported_models.h"
#include "models/model.h"
#include "models/variables.h"
#include "script_modules.h"
#include "torchscript/script_program.h"
#include "train/small_jobs.h"

namespace dtrain {
namespace {

torch::jit::Module load_torchscript(const std::string& bytes) {
  std::istringstream in(bytes);
  return torch::jit::load(in);
}

void check_torchscript(const std::vector<LayerSpec>& layers, at::ScalarType type,
                       const std::vector<double>& mean = {0.286}) {
  const at::NoGradGuard no_grad;
  const ExportedModel model = exported_model(layers, type, mean);
  torch::jit::Module module = load_torchscript(torchscript_model(model.plan, model.data, model.variables));
  for (const bool training : {false, true}) {
    module.train(training);
    const at::Tensor logits = module.forward({model.images}).toTensor();
    INFO(torchscript_source(model.plan, model.data, model.variables));
    CHECK(logits.scalar_type() == type);
    CHECK(at::allclose(logits, model.logits, 1e-5, 1e-6));
    CHECK(at::equal(logits.argmax(1), model.logits.argmax(1)));
  }
  size_t found = 0;
  for (const auto& [name, value] : model.variables) {
    for (const auto& item : module.named_attributes()) {
      if (item.name == name) found += at::equal(item.value.toTensor(), value);
    }
  }
  CHECK(found == model.variables.size());
}

TEST_CASE("layers that name their inputs do so in TorchScript") {
  check_torchscript(
      listed_layers(R"([{kind: conv2d, filters: 4, padding: symmetric, name: stem}, {kind: relu, name: block},
      {kind: conv2d, filters: 6, padding: symmetric, stride: 2}, {kind: batch_norm, name: body},
      {kind: conv2d, filters: 6, kernel_size: 1, stride: 2, from: block}, {kind: add, with: body}, {kind: relu},
      {kind: dropout, name: again}, {kind: add, with: again}, {kind: global_avg_pool2d}, {kind: dense, units: 3}])"),
      at::kDouble);
}

TEST_CASE("a wide residual network gives the same logits as TorchScript") {
  check_torchscript(wide_resnet_layers(), at::kDouble);
}

TEST_CASE("a vision transformer gives the same logits as TorchScript") {
  check_torchscript(transformer_layers(), GENERATE(at::kFloat, at::kDouble));
}

TEST_CASE("each channel has its numbers in TorchScript, even where they are whole") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  check_torchscript(listed_layers("[{kind: flatten}, {kind: dense, units: 3}]"), type, {0, 0.4});
  check_torchscript(listed_layers("[{kind: flatten}, {kind: dense, units: 3}]"), type, {1e-6, 1});
}

TEST_CASE("a model of every kind of layer gives the same logits as TorchScript") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  check_torchscript(
      listed_layers(
          R"([{kind: conv2d, filters: 3, padding: same, stride: 2}, {kind: batch_norm}, {kind: relu},
                       {kind: max_pool2d, padding: same}, {kind: conv2d, filters: 4, kernel_size: 2, padding: same,
                       use_bias: false}, {kind: gelu}, {kind: avg_pool2d, pool_size: 2, stride: 1, padding: same},
                       {kind: flatten}, {kind: dropout}, {kind: silu}, {kind: dense, units: 6, use_bias: false},
                       {kind: tanh}, {kind: batch_norm, epsilon: 1}, {kind: dense, units: 3}, {kind: sigmoid}])"),
      type);
}

TEST_CASE("layer_norm, groups and activations are the same in TorchScript") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  check_torchscript(listed_layers(R"([{kind: conv2d, filters: 4, padding: same, activation: relu, name: stem},
      {kind: conv2d, filters: 4, kernel_size: 4, padding: same, groups: 4}, {kind: layer_norm, epsilon: 0.01},
      {kind: conv2d, filters: 4, kernel_size: 1, groups: 2}, {kind: add, with: stem}, {kind: flatten},
      {kind: layer_norm, epsilon: 1}, {kind: dense, units: 3, activation: tanh}])"),
                    type);
}

TEST_CASE("group_norm is the same in TorchScript") {
  check_torchscript(
      listed_layers(R"([{kind: conv2d, filters: 4}, {kind: group_norm, groups: 2, epsilon: 0.01},
      {kind: flatten}, {kind: dense, units: 6}, {kind: group_norm, groups: 3, epsilon: 1}, {kind: dense, units: 3}])"),
      GENERATE(at::kFloat, at::kDouble));
}

TEST_CASE("padding on one side only, or on both, or none") {
  const std::string layer =
      GENERATE("conv2d, filters: 2, kernel_size: 2", "conv2d, filters: 2, kernel_size: 3, stride: 2",
               "max_pool2d, pool_size: 2", "max_pool2d, pool_size: 3", "max_pool2d, pool_size: 3, stride: 1",
               "avg_pool2d, pool_size: 2", "avg_pool2d, pool_size: 3", "avg_pool2d, pool_size: 3, stride: 1");
  const std::string padding = GENERATE("valid", "same", "symmetric");
  INFO(layer << " " << padding);
  check_torchscript(
      listed_layers("[{kind: " + layer + ", padding: " + padding + "}, {kind: relu}, {kind: max_pool2d, " +
                    "pool_size: 1}, {kind: flatten}, {kind: dense, units: 3}]"),
      at::kFloat);
}

TEST_CASE("every kind of layer that is built has its TorchScript") {
  for (const auto& layers : layers_of_each_kind()) check_torchscript(layers, at::kFloat);
}

TEST_CASE("a TorchScript model can give probabilities, and tells what it was told of itself") {
  const at::NoGradGuard no_grad;
  const ExportedModel model =
      exported_model(listed_layers("[{kind: flatten}, {kind: dense, units: 3}]"), at::kFloat);
  std::istringstream in(
      torchscript_model(model.plan, model.data, model.variables,
                        {.softmax = true, .metadata = {{"classes", "[\"a\"]"}, {"b", ""}}}));
  torch::jit::ExtraFilesMap extra = {{kTorchScriptMetadata, ""}};
  torch::jit::Module module = torch::jit::load(in, std::nullopt, extra);
  CHECK(at::allclose(module.forward({model.images}).toTensor(), at::softmax(model.logits, 1), 1e-5, 1e-6));
  CHECK(nlohmann::json::parse(extra.at(kTorchScriptMetadata)) ==
        nlohmann::json({{"classes", "[\"a\"]"}, {"b", ""}}));
}

TEST_CASE("a layer that is named like a word of TorchScript is refused") {
  const std::string name = GENERATE("in", "training", "NoneType");
  const ExportedModel model = exported_model(
      listed_layers("[{kind: flatten}, {kind: dense, units: 3, name: " + name + "}]"), at::kFloat);
  CHECK_THROWS_WITH(
      torchscript_model(model.plan, model.data, model.variables),
      ContainsSubstring("no layer named '" + name + "'") && ContainsSubstring("another --format"));
}

TEST_CASE("a layer may have the name of the whole model's class") {
  check_torchscript(listed_layers("[{kind: flatten}, {kind: dense, units: 3, name: Model}]"), at::kFloat);
}

TEST_CASE("a layer whose expression is not TorchScript is a usage error that names it") {
  static const LayerKind kFaulty = {.name = "faulty",
                                    .place = place_elementwise,
                                    .make = make_module<FunctionLayer<doubled>>,
                                    .torchscript = script<"torch.twice(x)">};
  if (find_layer_kind(kFaulty.name) == nullptr) add_layer_kinds({&kFaulty});
  std::vector<LayerSpec> layers = listed_layers("[{kind: flatten}, {kind: dense, units: 3}, {kind: tanh}]");
  layers.insert(layers.begin() + 2, {.kind = kFaulty.name});
  const ExportedModel model = exported_model(layers, at::kFloat);
  const auto code = [&] {
    try {
      torchscript_model(model.plan, model.data, model.variables);
    } catch (const Error& error) {
      CHECK_THAT(error.what(),
                 ContainsSubstring(
                     "layer faulty (faulty): LibTorch does not take its TorchScript, torch.twice(x): ") &&
                     ContainsSubstring("aten::twice"));
      return error.code();
    }
    return ExitCode::kDone;
  };
  CHECK(code() == ExitCode::kUsage);
}

TEST_CASE("variables that are missing are named") {
  const JobPlan job = small_job();
  NamedTensors variables = copy_variables(*build_model(job.model, at::kFloat, 1));
  variables.front().first = "other.weight";
  CHECK_THROWS_AS(torchscript_model(job.model, job.spec.data, variables), Error);
}

TEST_CASE("of a user's module the tensor that is trained is exported, from each type that may have it") {
  using Case = std::tuple<const char*, const char*, const char*>;
  const auto [type, result, output] = GENERATE(
      Case{"Tensor", "y", ""}, Case{"Tuple[Tensor, int]", "(y, 1)", ""}, Case{"List[Tensor]", "[y, x]", ""},
      Case{"Optional[Tensor]", "y", ""}, Case{"Tuple[Optional[Tensor], int]", "(y, 1)", ""},
      Case{"Optional[Tuple[Tensor, int]]", "(y, 1)", ""}, Case{"Dict[str, Tensor]", "{\"a\": y}", "a"},
      Case{"Optional[Dict[str, Tensor]]", "{\"a\": y}", "a"});
  INFO(type);
  const std::string file = script_bytes(script_returning(result, type));
  ScriptSource source{"net.pt", "0123", [file] { return file; }, {}, "3 classes need"};
  if (*output != 0) source.output = output;
  const LayerPlan plan = place_script(source, at::kFloat, {1, 4, 4}, 3);
  REQUIRE(plan.problems.empty());
  const auto model = build_model(plan, at::kFloat, 1);
  torch::jit::Module module =
      load_torchscript(torchscript_model(plan, DataSpec(), copy_variables(*model), {.pixels = false}));
  const at::Tensor batch = numbers_like({5, 1, 4, 4});
  model->eval();
  CHECK(at::equal(module.forward({batch}).toTensor(), model->forward(batch)));
}

}  // namespace
}  // namespace dtrain
