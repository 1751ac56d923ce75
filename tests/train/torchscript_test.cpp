#include "export/torchscript.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>

#include "catch.h"
#include "core/error.h"
#include "models/model.h"
#include "models/variables.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

torch::jit::Module load(const std::string& bytes) {
  std::istringstream in(bytes);
  return torch::jit::load(in);
}

// The variables of a model whose moving statistics are those of no beginner.
NamedTensors some_variables(const LayerPlan& plan, at::ScalarType type) {
  at::manual_seed(3);
  NamedTensors variables = copy_variables(*build_model(plan, type, 1));
  for (auto& [name, tensor] : variables)
    tensor.copy_(at::rand_like(tensor) - (name.find("var") < name.size() ? 0 : 0.5));
  return variables;
}

// What dtrain's own model makes of images.
at::Tensor own_logits(const LayerPlan& plan, const NamedTensors& variables, const DataSpec& data,
                      const at::Tensor& images, at::ScalarType type) {
  const auto model = build_model(plan, type, 1);
  write_variables(*model, variables);
  model->eval();
  return model->forward(images.to(type).div_(255).sub_(data.mean).div_(data.standard_deviation));
}

void check_export(const std::vector<LayerSpec>& layers, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  const Shape image = {2, 7, 9};  // sides that leave odd cells of padding
  const LayerPlan plan = place_layers(layers, image, 3);
  REQUIRE(plan.problems.empty());
  DataSpec data;
  data.mean = 0.286;
  data.standard_deviation = 0.353;
  const NamedTensors variables = some_variables(plan, type);
  torch::jit::Module module = load(torchscript_model(plan, data, variables));
  const at::Tensor images = at::randint(0, 256, {5, 2, 7, 9}, at::kByte);
  const at::Tensor expected = own_logits(plan, variables, data, images, type);
  for (const bool training : {false, true}) {
    module.train(training);
    const at::Tensor logits = module.forward({images}).toTensor();
    INFO(torchscript_source(plan, data, variables));
    CHECK(logits.scalar_type() == type);
    CHECK(at::allclose(logits, expected, 1e-5, 1e-6));
    CHECK(at::equal(logits.argmax(1), expected.argmax(1)));
  }
  size_t found = 0;
  for (const auto& [name, value] : variables) {
    for (const auto& item : module.named_attributes()) {
      if (item.name == name) found += at::equal(item.value.toTensor(), value);
    }
  }
  CHECK(found == variables.size());
}

std::vector<LayerSpec> layers_of(const std::string& list) {
  const LoadedSpec loaded =
      parse_spec("batch: {per_replica: 4}\nmodel: {kind: layers, layers: " + list + "}\n", "spec");
  INFO(problems_of(loaded));
  REQUIRE(loaded.ok());
  return loaded.spec.model.layers;
}

TEST_CASE("layers that name their inputs do so in TorchScript") {
  check_export(
      layers_of(R"([{kind: conv2d, filters: 4, padding: symmetric, name: stem}, {kind: relu, name: block},
      {kind: conv2d, filters: 6, padding: symmetric, stride: 2}, {kind: batch_norm, name: body},
      {kind: conv2d, filters: 6, kernel_size: 1, stride: 2, from: block}, {kind: add, with: body}, {kind: relu},
      {kind: dropout, name: again}, {kind: add, with: again}, {kind: global_avg_pool2d}, {kind: dense, units: 3}])"),
      at::kDouble);
}

TEST_CASE("a model of every kind of layer gives the same logits as TorchScript") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  check_export(layers_of(
                   R"([{kind: conv2d, filters: 3, padding: same, stride: 2}, {kind: batch_norm}, {kind: relu},
                       {kind: max_pool2d, padding: same}, {kind: conv2d, filters: 4, kernel_size: 2, padding: same,
                       use_bias: false}, {kind: gelu}, {kind: avg_pool2d, pool_size: 2, stride: 1, padding: same},
                       {kind: flatten}, {kind: dropout}, {kind: dense, units: 6, use_bias: false}, {kind: tanh},
                       {kind: batch_norm}, {kind: dense, units: 3}, {kind: sigmoid}])"),
               type);
}

TEST_CASE("padding on one side only, or on both, or none") {
  const std::string layer =
      GENERATE("conv2d, filters: 2, kernel_size: 2", "conv2d, filters: 2, kernel_size: 3, stride: 2",
               "max_pool2d, pool_size: 2", "max_pool2d, pool_size: 3", "max_pool2d, pool_size: 3, stride: 1",
               "avg_pool2d, pool_size: 2", "avg_pool2d, pool_size: 3", "avg_pool2d, pool_size: 3, stride: 1");
  const std::string padding = GENERATE("valid", "same");
  INFO(layer << " " << padding);
  check_export(
      layers_of("[{kind: " + layer + ", padding: " + padding + "}, {kind: relu}, {kind: max_pool2d, " +
                "pool_size: 1}, {kind: flatten}, {kind: dense, units: 3}]"),
      at::kFloat);
}

TEST_CASE("every kind of layer that is built has its TorchScript") {
  for (const std::string& kind : layer_kinds_built()) {
    INFO(kind);
    LayerSpec layer, flatten, last;
    layer.kind = kind;
    layer.units = 3;
    layer.filters = 2;
    if (kind == "add") layer.with = "flatten";
    flatten.kind = "flatten";
    last.kind = "dense";
    last.units = 3;
    const bool windowed = kind == "conv2d" || kind.find("pool2d") != std::string::npos;
    if (windowed)
      check_export({layer, flatten, last}, at::kFloat);
    else if (kind == "flatten")
      check_export({layer, last}, at::kFloat);
    else
      check_export({flatten, layer, last}, at::kFloat);
  }
}

TEST_CASE("variables that are missing are named") {
  const JobPlan job = small_job();
  NamedTensors variables = copy_variables(*build_model(job.model, at::kFloat, 1));
  variables.front().first = "other.weight";
  CHECK_THROWS_AS(torchscript_model(job.model, job.spec.data, variables), Error);
}

}  // namespace
}  // namespace dtrain
