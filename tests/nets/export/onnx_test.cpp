// An exported model is read back, compared with what the layers say, and computed with.
#include "export/exports.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bare_layer.h"
#include "catch.h"
#include "core/error.h"
#include "core/version.h"
#include "exported_models.h"
#include "onnx_file.h"
#include "onnx_interpreter.h"

namespace dtrain {
namespace {

std::string onnx_bytes(const ExportedModel& model, const ExportForm& form = {}) {
  return onnx_model(model.plan, model.data, model.image, model.variables, "example", form);
}

OnnxModel onnx_of(const std::string& layers, at::ScalarType type = at::kFloat) {
  return read_onnx(onnx_bytes(exported_model(listed_layers(layers), type)));
}

void check_onnx_logits(const std::vector<LayerSpec>& layers, at::ScalarType type,
                       const std::vector<double>& mean = {0.286}) {
  const at::NoGradGuard no_grad;
  const ExportedModel model = exported_model(layers, type, mean);
  const OnnxModel read = read_onnx(onnx_bytes(model));
  INFO(onnx_text(read));
  const at::Tensor logits = run_onnx(read, model.images.to(type));
  INFO("largest difference " << (logits - model.logits).abs().max().item<double>());
  CHECK(at::allclose(logits, model.logits, /*rtol=*/type == at::kDouble ? 1e-6 : 1e-5, /*atol=*/1e-6));
}

bool same_bits(const at::Tensor& one, const at::Tensor& other) {
  const at::Tensor a = one.contiguous(), b = other.contiguous();
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

const char* const kEveryKind = R"([
    {kind: conv2d, filters: 4, padding: symmetric, stride: 2, name: stem}, {kind: batch_norm, epsilon: 0.01},
    {kind: relu, name: block}, {kind: conv2d, filters: 4, kernel_size: 2, padding: same, use_bias: false},
    {kind: gelu, name: side}, {kind: max_pool2d, padding: same, stride: 1, from: block},
    {kind: add, with: side}, {kind: avg_pool2d, padding: same, pool_size: 3}, {kind: dropout}, {kind: flatten},
    {kind: dense, units: 4, use_bias: false}, {kind: tanh}, {kind: batch_norm}, {kind: dense, units: 3},
    {kind: sigmoid}])";

TEST_CASE("every kind of layer has its ONNX operator, with attributes and inputs, and dropout none") {
  CHECK(onnx_text(onnx_of(kEveryKind)) == R"(pixels: Float [batch, 2, 7, 8]
_normalise.scale.output = Div (pixels, _normalise.largest)
_normalise.centre.output = Sub (_normalise.scale.output, _normalise.mean)
_normalise.output = Div (_normalise.centre.output, _normalise.standard_deviation)
stem.output = Conv kernel_shape=[3, 3] pads=[1, 1, 1, 1] strides=[2, 2] (_normalise.output, stem.weight, stem.bias)
batch_norm.output = BatchNormalization epsilon=0.01f (stem.output, batch_norm.weight, batch_norm.bias, batch_norm.running_mean, batch_norm.running_var)
block.output = Relu (batch_norm.output)
conv2d_1.output = Conv kernel_shape=[2, 2] pads=[0, 0, 1, 1] strides=[1, 1] (block.output, conv2d_1.weight)
side.output = Gelu (conv2d_1.output)
max_pool2d.output = MaxPool kernel_shape=[2, 2] pads=[0, 0, 1, 1] strides=[1, 1] (block.output)
add.output = Add (max_pool2d.output, side.output)
avg_pool2d.output = AveragePool count_include_pad=0 kernel_shape=[3, 3] pads=[1, 1, 1, 1] strides=[3, 3] (add.output)
flatten.output = Flatten axis=1 (avg_pool2d.output)
dense.output = Gemm transB=1 (flatten.output, dense.weight)
tanh.output = Tanh (dense.output)
batch_norm_1.output = BatchNormalization epsilon=0.001f (tanh.output, batch_norm_1.weight, batch_norm_1.bias, batch_norm_1.running_mean, batch_norm_1.running_var)
dense_1.output = Gemm transB=1 (batch_norm_1.output, dense_1.weight, dense_1.bias)
sigmoid.output = Sigmoid (dense_1.output)
logits = Identity (sigmoid.output)
logits: Float [batch, 3]
)");
  CHECK(onnx_text(onnx_of("[{kind: global_avg_pool2d}, {kind: dense, units: 3}]", at::kDouble)) ==
        R"(pixels: Double [batch, 2, 7, 8]
_normalise.scale.output = Div (pixels, _normalise.largest)
_normalise.centre.output = Sub (_normalise.scale.output, _normalise.mean)
_normalise.output = Div (_normalise.centre.output, _normalise.standard_deviation)
global_avg_pool2d.mean.output = GlobalAveragePool (_normalise.output)
global_avg_pool2d.output = Flatten axis=1 (global_avg_pool2d.mean.output)
dense.output = Gemm transB=1 (global_avg_pool2d.output, dense.weight, dense.bias)
logits = Identity (dense.output)
logits: Double [batch, 3]
)");
}

// A block of a ConvNeXt: a depthwise convolution, normalised channels, and the activation of another layer.
const char* const kBlock = R"([
    {kind: conv2d, filters: 4, padding: same, activation: relu, name: stem},
    {kind: conv2d, filters: 4, padding: same, groups: 4}, {kind: layer_norm, epsilon: 0.01},
    {kind: conv2d, filters: 4, kernel_size: 1, groups: 2}, {kind: add, with: stem}, {kind: flatten},
    {kind: layer_norm}, {kind: dense, units: 3, activation: tanh}])";

TEST_CASE("layer_norm, groups and activations have their ONNX operators") {
  CHECK(onnx_text(onnx_of(kBlock)) == R"(pixels: Float [batch, 2, 7, 8]
_normalise.scale.output = Div (pixels, _normalise.largest)
_normalise.centre.output = Sub (_normalise.scale.output, _normalise.mean)
_normalise.output = Div (_normalise.centre.output, _normalise.standard_deviation)
stem.output = Conv kernel_shape=[3, 3] pads=[1, 1, 1, 1] strides=[1, 1] (_normalise.output, stem.weight, stem.bias)
relu.output = Relu (stem.output)
conv2d_1.output = Conv group=4 kernel_shape=[3, 3] pads=[1, 1, 1, 1] strides=[1, 1] (relu.output, conv2d_1.weight, conv2d_1.bias)
layer_norm.channels_last.output = Transpose perm=[0, 2, 3, 1] (conv2d_1.output)
layer_norm.output = LayerNormalization epsilon=0.01f (layer_norm.channels_last.output, layer_norm.weight, layer_norm.bias)
layer_norm.channels_first.output = Transpose perm=[0, 3, 1, 2] (layer_norm.output)
conv2d_2.output = Conv group=2 kernel_shape=[1, 1] pads=[0, 0, 0, 0] strides=[1, 1] (layer_norm.channels_first.output, conv2d_2.weight, conv2d_2.bias)
add.output = Add (conv2d_2.output, relu.output)
flatten.output = Flatten axis=1 (add.output)
layer_norm_1.output = LayerNormalization epsilon=0.001f (flatten.output, layer_norm_1.weight, layer_norm_1.bias)
dense.output = Gemm transB=1 (layer_norm_1.output, dense.weight, dense.bias)
tanh.output = Tanh (dense.output)
logits = Identity (tanh.output)
logits: Float [batch, 3]
)");
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  check_onnx_logits(listed_layers(kBlock), type);
}

TEST_CASE("group_norm is an instance normalisation of its groups in ONNX") {
  const char* const layers =
      R"([{kind: conv2d, filters: 4, name: stem}, {kind: group_norm, groups: 2, epsilon: 0.01},
      {kind: flatten}, {kind: dense, units: 6}, {kind: group_norm, groups: 3}, {kind: dense, units: 3}])";
  CHECK(onnx_text(onnx_of(layers)) == R"(pixels: Float [batch, 2, 7, 8]
_normalise.scale.output = Div (pixels, _normalise.largest)
_normalise.centre.output = Sub (_normalise.scale.output, _normalise.mean)
_normalise.output = Div (_normalise.centre.output, _normalise.standard_deviation)
stem.output = Conv kernel_shape=[3, 3] pads=[0, 0, 0, 0] strides=[1, 1] (_normalise.output, stem.weight, stem.bias)
group_norm.groups.output = Reshape (stem.output, group_norm.groups.shape)
group_norm.normalised.output = InstanceNormalization epsilon=0.01f (group_norm.groups.output, group_norm.ones, group_norm.zeros)
group_norm.together.output = Reshape (group_norm.normalised.output, group_norm.together.shape)
group_norm.scaled.output = Mul (group_norm.together.output, group_norm.weight)
group_norm.output = Add (group_norm.scaled.output, group_norm.bias)
flatten.output = Flatten axis=1 (group_norm.output)
dense.output = Gemm transB=1 (flatten.output, dense.weight, dense.bias)
group_norm_1.groups.output = Reshape (dense.output, group_norm_1.groups.shape)
group_norm_1.normalised.output = InstanceNormalization epsilon=0.001f (group_norm_1.groups.output, group_norm_1.ones, group_norm_1.zeros)
group_norm_1.together.output = Reshape (group_norm_1.normalised.output, group_norm_1.together.shape)
group_norm_1.scaled.output = Mul (group_norm_1.together.output, group_norm_1.weight)
group_norm_1.output = Add (group_norm_1.scaled.output, group_norm_1.bias)
dense_1.output = Gemm transB=1 (group_norm_1.output, dense_1.weight, dense_1.bias)
logits = Identity (dense_1.output)
logits: Float [batch, 3]
)");
  check_onnx_logits(listed_layers(layers), GENERATE(at::kFloat, at::kDouble));
}

TEST_CASE("silu is a product in ONNX, and the layers around it name it as any other") {
  const char* const layers = R"([{kind: silu, name: first}, {kind: flatten},
      {kind: dense, units: 3, activation: silu}, {kind: silu}])";
  CHECK(onnx_text(onnx_of(layers)) == R"(pixels: Float [batch, 2, 7, 8]
_normalise.scale.output = Div (pixels, _normalise.largest)
_normalise.centre.output = Sub (_normalise.scale.output, _normalise.mean)
_normalise.output = Div (_normalise.centre.output, _normalise.standard_deviation)
first.sigmoid.output = Sigmoid (_normalise.output)
first.output = Mul (first.sigmoid.output, _normalise.output)
flatten.output = Flatten axis=1 (first.output)
dense.output = Gemm transB=1 (flatten.output, dense.weight, dense.bias)
silu_1.sigmoid.output = Sigmoid (dense.output)
silu_1.output = Mul (silu_1.sigmoid.output, dense.output)
silu_2.sigmoid.output = Sigmoid (silu_1.output)
silu_2.output = Mul (silu_2.sigmoid.output, silu_1.output)
logits = Identity (silu_2.output)
logits: Float [batch, 3]
)");
  check_onnx_logits(listed_layers(layers), GENERATE(at::kFloat, at::kDouble));
}

TEST_CASE("an ONNX model says of which version it is, and who made it") {
  const OnnxModel model = onnx_of("[{kind: flatten}, {kind: dense, units: 3}]");
  CHECK(model.ir_version == 9);  // of ONNX 1.15, which brought opset 20
  CHECK(model.opset == 20);
  CHECK(model.producer == "dtrain");
  CHECK(model.producer_version == kVersion);
  CHECK(model.name == "example");
}

// By hand, for 7 rows and 8 columns: pads are top, left, bottom, right.
TEST_CASE("ONNX's windows have the padding of the layers") {
  struct Expected {
    const char* layer;
    const char* text;
  };
  const Expected expected = GENERATE(values<Expected>({
      {"conv2d, filters: 2", "Conv kernel_shape=[3, 3] pads=[0, 0, 0, 0] strides=[1, 1]"},
      {"conv2d, filters: 2, padding: same", "Conv kernel_shape=[3, 3] pads=[1, 1, 1, 1] strides=[1, 1]"},
      {"conv2d, filters: 2, stride: 2, padding: same",
       "Conv kernel_shape=[3, 3] pads=[1, 0, 1, 1] strides=[2, 2]"},
      {"conv2d, filters: 2, kernel_size: 4, stride: 3, padding: same",
       "Conv kernel_shape=[4, 4] pads=[1, 1, 2, 1] strides=[3, 3]"},
      {"conv2d, filters: 2, kernel_size: 5, padding: symmetric",
       "Conv kernel_shape=[5, 5] pads=[2, 2, 2, 2] strides=[1, 1]"},
      {"max_pool2d", "MaxPool kernel_shape=[2, 2] pads=[0, 0, 0, 0] strides=[2, 2]"},
      {"max_pool2d, padding: same", "MaxPool kernel_shape=[2, 2] pads=[0, 0, 1, 0] strides=[2, 2]"},
      {"max_pool2d, pool_size: 3, stride: 2, padding: symmetric",
       "MaxPool kernel_shape=[3, 3] pads=[1, 1, 1, 1] strides=[2, 2]"},
      {"avg_pool2d, pool_size: 3, stride: 2, padding: same",
       "AveragePool count_include_pad=0 kernel_shape=[3, 3] pads=[1, 0, 1, 1] strides=[2, 2]"},
  }));
  const OnnxModel model =
      onnx_of(std::string("[{kind: ") + expected.layer + "}, {kind: flatten}, {kind: dense, units: 3}]");
  CHECK(onnx_operator(model.nodes.at(3)) == expected.text);
}

TEST_CASE("ONNX's initializers are the variables, bit for bit, and the normalisation's numbers") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  ExportedModel model = exported_model(listed_layers(kEveryKind), type);
  at::Tensor& weight = model.variables.front().second;
  weight.view(-1)[0] = -0.0;
  weight.view(-1)[1] = std::numeric_limits<double>::quiet_NaN();
  weight.view(-1)[2] = std::numeric_limits<float>::denorm_min();
  // In another order in memory, as lay_channels_last() has it.
  if (type == at::kFloat) weight = weight.contiguous(at::MemoryFormat::ChannelsLast);
  const OnnxModel read = read_onnx(onnx_bytes(model));
  for (const auto& [name, value] : model.variables) {
    INFO(name);
    REQUIRE(read.initializers.count(name) == 1);
    CHECK(same_bits(read.initializers.at(name), value));
  }
  CHECK(read.initializers.size() == model.variables.size() + 3);
  const std::vector<std::pair<std::string, double>> numbers = {
      {"_normalise.largest", 255}, {"_normalise.mean", 0.286}, {"_normalise.standard_deviation", 0.353}};
  for (const auto& [name, number] : numbers)
    CHECK(same_bits(read.initializers.at(name), at::scalar_tensor(number, type)));
}

TEST_CASE("layers may have names such as those of what an ONNX model has besides them") {
  const at::NoGradGuard no_grad;
  const ExportedModel model = exported_model(
      listed_layers("[{kind: batch_norm, name: normalise}, {kind: relu, name: logits}, {kind: flatten, name: "
                    "probabilities}, {kind: dense, units: 3, name: softmax}]"),
      at::kFloat);
  const at::Tensor outputs = run_onnx(read_onnx(onnx_bytes(model)), model.images.to(at::kFloat));
  CHECK(at::allclose(outputs, model.logits, 1e-5, 1e-6));
  const OnnxModel read = read_onnx(onnx_bytes(model, {.uint8 = true, .softmax = true}));
  CHECK(at::allclose(run_onnx(read, model.images), at::softmax(model.logits, 1), 1e-5, 1e-6));
}

TEST_CASE("each channel has its numbers in an ONNX model") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  check_onnx_logits(listed_layers("[{kind: flatten}, {kind: dense, units: 3}]"), type, {0, 0.4});
}

TEST_CASE("an ONNX model of every kind of layer gives dtrain's logits") {
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  check_onnx_logits(listed_layers(kEveryKind), type);
  for (const auto& layers : layers_of_each_kind()) check_onnx_logits(layers, type);
}

TEST_CASE("an ONNX model of a wide residual network gives dtrain's logits") {
  check_onnx_logits(wide_resnet_layers(), at::kDouble);
}

TEST_CASE("an ONNX model of a vision transformer gives dtrain's logits") {
  check_onnx_logits(transformer_layers(), GENERATE(at::kFloat, at::kDouble));
}

TEST_CASE("and an ONNX model with padding on one side only, or on both, or none") {
  const std::string layer = GENERATE("conv2d, filters: 2, kernel_size: 2", "conv2d, filters: 2, stride: 2",
                                     "max_pool2d, pool_size: 2", "max_pool2d, pool_size: 3, stride: 2",
                                     "avg_pool2d, pool_size: 2", "avg_pool2d, pool_size: 3, stride: 2");
  const std::string padding = GENERATE("valid", "same", "symmetric");
  INFO(layer << " " << padding);
  check_onnx_logits(listed_layers("[{kind: " + layer + ", padding: " + padding +
                                  "}, {kind: flatten}, {kind: dense, units: 3}]"),
                    at::kDouble);
}

TEST_CASE("an ONNX model can take bytes and give probabilities, and tells what it was told of itself") {
  const at::NoGradGuard no_grad;
  const at::ScalarType type = GENERATE(at::kFloat, at::kDouble);
  const ExportedModel model = exported_model(listed_layers(kEveryKind), type);
  const OnnxModel bytes = read_onnx(onnx_bytes(model, {.uint8 = true}));
  INFO(onnx_text(bytes));
  CHECK(bytes.inputs.at(0).type == at::kByte);
  CHECK(bytes.outputs.at(0).name == "logits");
  CHECK(at::equal(run_onnx(bytes, model.images),
                  run_onnx(read_onnx(onnx_bytes(model)), model.images.to(type))));
  CHECK(bytes.metadata.empty());

  const OnnxModel both = read_onnx(
      onnx_bytes(model, {.uint8 = true, .softmax = true, .metadata = {{"classes", "[\"a\"]"}, {"b", ""}}}));
  const at::Tensor probabilities = run_onnx(both, model.images);
  CHECK(both.outputs.at(0).name == "probabilities");
  CHECK(at::allclose(probabilities, at::softmax(model.logits, 1), 1e-5, 1e-6));
  CHECK(both.metadata == std::map<std::string, std::string>{{"classes", "[\"a\"]"}, {"b", ""}});
}

// What this test relies on: a file that is cut or changed is not read as something else.
TEST_CASE("a damaged ONNX model is refused") {
  const std::string bytes =
      onnx_bytes(exported_model(listed_layers("[{kind: flatten}, {kind: dense, units: 3}]"), at::kFloat));
  for (size_t size = 0; size < bytes.size(); ++size) CHECK_THROWS(read_onnx(bytes.substr(0, size)));
  OnnxModel model = read_onnx(bytes);
  const at::Tensor pixels = at::zeros({1, 2, 7, 8});
  CHECK_NOTHROW(run_onnx(model, pixels));
  CHECK_THROWS(run_onnx(model, pixels.to(at::kDouble)));
  CHECK_THROWS(run_onnx(model, pixels.slice(/*dim=*/3, 0, 7)));
  std::swap(model.nodes.at(0), model.nodes.at(1));
  CHECK_THROWS_WITH(run_onnx(model, pixels), ContainsSubstring("nothing before has made"));
  std::swap(model.nodes.at(0), model.nodes.at(1));
  model.initializers["spare"] = pixels;
  CHECK_THROWS_WITH(run_onnx(model, pixels), ContainsSubstring("nothing uses 'spare'"));
}

TEST_CASE("variables of another model are no ONNX model") {
  ExportedModel model =
      exported_model(listed_layers("[{kind: flatten}, {kind: dense, units: 3}]"), at::kFloat);
  model.variables.front().first = "other";
  CHECK_THROWS_AS(onnx_bytes(model), Error);
}

TEST_CASE("an export names the layer that has no form in its language") {
  const ExportedModel model = exported_model({bare_layer(), listed_layers("[{kind: flatten}]").at(0),
                                              listed_layers("[{kind: dense, units: 3}]").at(0)},
                                             at::kFloat);
  const std::string rest = "; use another --format, or other layers";
  CHECK_THROWS_WITH(onnx_bytes(model), "layer bare (bare) has no form in ONNX" + rest);
  CHECK_THROWS_WITH(torchscript_source(model.plan, model.data, model.variables),
                    "layer bare (bare) has no form in TorchScript" + rest);
}

}  // namespace
}  // namespace dtrain
