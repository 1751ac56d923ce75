#include "export/onnx.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "core/error.h"
#include "models/model.h"
#include "models/variables.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

std::string export_of(const JobPlan& job, const NamedTensors& variables) {
  return onnx_model(job.model, job.spec.data, job.data.image_shape, variables, job.spec.name);
}

NamedTensors variables_of(const JobPlan& job) {
  return copy_variables(*build_model(job.model, dtype_from_name(job.spec.model.dtype), 1));
}

// What the bytes mean is for scripts/check_formats to say, with ONNX Runtime.
TEST_CASE("every kind of layer has its operator, in order, and dropout none") {
  const LoadedSpec loaded = parse_spec(R"(batch: {per_replica: 4}
model:
  kind: layers
  layers: [{kind: conv2d, filters: 2, padding: same, stride: 2}, {kind: batch_norm}, {kind: relu},
           {kind: max_pool2d, pool_size: 1}, {kind: avg_pool2d, pool_size: 2, padding: same}, {kind: flatten},
           {kind: dropout}, {kind: gelu}, {kind: tanh}, {kind: sigmoid}, {kind: dense, units: 3, use_bias: false}]
)",
                                       "spec");
  REQUIRE(loaded.ok());
  const LayerPlan plan = place_layers(loaded.spec.model.layers, {1, 4, 4}, 3);
  REQUIRE(plan.problems.empty());
  const std::string model =
      onnx_model(plan, loaded.spec.data, {1, 4, 4}, copy_variables(*build_model(plan, at::kFloat, 1)), "all");
  size_t at = 0;
  for (const char* kind : {"Div", "Sub", "Conv", "BatchNormalization", "Relu", "MaxPool", "AveragePool",
                           "Flatten", "Gelu", "Tanh", "Sigmoid", "Gemm", "Identity"}) {
    INFO(kind);
    at = model.find(kind, at);
    REQUIRE(at != std::string::npos);
  }
  CHECK(model.find("Dropout") == std::string::npos);
  for (const char* name : {"pixels", "logits", "batch", "dense.weight", "batch_norm.running_var", "dtrain"})
    CHECK(model.find(name) != std::string::npos);
  CHECK(model.find("dense.bias") == std::string::npos);
}

TEST_CASE("every kind of layer that is built can be exported") {
  for (const std::string& kind : layer_kinds_built()) {
    INFO(kind);
    const bool windowed = kind == "conv2d" || kind.find("pool2d") != std::string::npos;
    LayerSpec layer;
    layer.kind = kind;
    layer.units = 3;
    layer.filters = 2;
    if (kind == "add") layer.with = "flatten";
    LayerSpec flatten, last;
    flatten.kind = "flatten";
    last.kind = "dense";
    last.units = 3;
    const std::vector<LayerSpec> layers = windowed || kind == "flatten"
                                              ? std::vector<LayerSpec>{layer, flatten, last}
                                              : std::vector<LayerSpec>{flatten, layer, last};
    const LayerPlan plan =
        place_layers(kind == "flatten" ? std::vector<LayerSpec>{layer, last} : layers, {1, 6, 6}, 3);
    REQUIRE(plan.problems.empty());
    CHECK_FALSE(
        onnx_model(plan, {}, {1, 6, 6}, copy_variables(*build_model(plan, at::kFloat, 1)), "each").empty());
  }
}

TEST_CASE("variables of another model are refused") {
  const JobPlan job = small_job();
  NamedTensors variables = variables_of(job);
  variables.front().first = "other";
  CHECK_THROWS_AS(export_of(job, variables), Error);
}

}  // namespace
}  // namespace dtrain
