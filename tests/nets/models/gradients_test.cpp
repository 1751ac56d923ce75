// The gradient of every kind of layer against central finite differences in float64.
#include <algorithm>
#include <cmath>
#include <set>

#include "layers/table.h"
#include "models/tensors.h"

namespace dtrain {
namespace {

// A scalar that depends on every output differently.
at::Tensor loss_of(Layer& layer, const at::Tensor& input) {
  at::manual_seed(3);  // the same cells dropped each time
  const at::Tensor output = layer.forward(input);
  return (output * at::linspace(0.5, 2, output.numel(), at::kDouble).reshape(output.sizes())).sum();
}

// The largest difference between the gradient of `variable` and (loss(x + h) - loss(x - h)) / 2h.
double gradient_error(Layer& layer, const at::Tensor& input, const at::Tensor& variable) {
  constexpr double kStep = 1e-6;
  const at::Tensor gradient = variable.grad().contiguous();
  double* const values = variable.data_ptr<double>();
  double worst = 0;
  for (int64_t i = 0; i < variable.numel(); ++i) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = loss_of(layer, input).item<double>();
    values[i] = value - kStep;
    const double below = loss_of(layer, input).item<double>();
    values[i] = value;
    const double error = std::abs((above - below) / (2 * kStep) - gradient.data_ptr<double>()[i]);
    if (std::isnan(error)) return error;  // std::max() would leave it out
    worst = std::max(worst, error);
  }
  return worst;
}

struct GradientCase {
  LayerSpec layer;
  Shape input;
};

const std::vector<GradientCase>& gradient_cases() {
  static const std::vector<GradientCase> cases = {
      {dense(3), {4}},
      {without_bias(dense(3)), {4}},
      {layer("flatten"), {2, 3, 2}},
      {conv2d(2, 3), {2, 4, 5}},
      {with_padding(with_stride(conv2d(2, 3), 2), "same"), {2, 4, 5}},
      {with_padding(conv2d(2, 2), "same"), {1, 3, 3}},
      {pool2d("max_pool2d", 2), {2, 4, 5}},
      {with_padding(pool2d("max_pool2d", 2), "same"), {2, 3, 5}},
      {with_padding(with_stride(pool2d("max_pool2d", 3), 1), "same"), {2, 3, 4}},
      {pool2d("avg_pool2d", 2), {2, 4, 5}},
      {with_padding(pool2d("avg_pool2d", 2), "same"), {2, 3, 5}},
      {with_padding(with_stride(pool2d("avg_pool2d", 3), 1), "same"), {2, 3, 4}},
      {layer("relu"), {6}},
      {layer("relu6"), {6}},
      {layer("gelu"), {6}},
      {layer("silu"), {6}},
      {layer("tanh"), {6}},
      {layer("sigmoid"), {6}},
      {layer("batch_norm"), {3}},
      {layer("batch_norm"), {2, 3, 3}},
      {layer("layer_norm"), {5}},
      {layer("layer_norm"), {4, 3, 2}},
      {group_norm(2), {6}},
      {group_norm(2), {4, 3, 2}},
      {in_groups(conv2d(4, 2), 2), {2, 3, 4}},
      {layer("dropout"), {6}},
      {layer("global_avg_pool2d"), {2, 3, 4}},
      {adaptive(3), {2, 4, 7}},
      {adaptive(3), {2, 2, 1}},
      {dense(3), {2, 4}},
      {layer("layer_norm"), {3, 5}},
      {group_norm(2), {3, 4}},
      {layer("stochastic_depth"), {4}},
      {patches(2, 3), {2, 4, 2}},
      {layer("class_token"), {2, 3}},
      {layer("positional_embedding"), {3, 2}},
      {attention(2), {3, 4}},
      {attention(2, /*dropout=*/0.4), {3, 4}},
      {layer("first_token"), {3, 4}},
  };
  return cases;
}

TEST_CASE("gradients of inputs and parameters agree with finite differences") {
  std::set<std::string> tried = {"add"};  // LibTorch's own sum
  for (const GradientCase& one : gradient_cases()) {
    for (const bool training : {true, false}) {
      INFO(one.layer.kind << " on " << to_string(one.input) << (training ? " training" : " evaluating"));
      const auto tested = make_layer(one.layer, one.input);
      tested->train(training);
      Shape sizes = one.input;
      sizes.insert(sizes.begin(), 3);
      const at::Tensor input = noise(sizes).set_requires_grad(true);
      loss_of(*tested, input).backward();
      CHECK(gradient_error(*tested, input, input) < 1e-7);
      for (const at::Tensor& parameter : tested->parameters())
        CHECK(gradient_error(*tested, input, parameter) < 1e-7);
    }
    tried.insert(one.layer.kind);
  }
  std::set<std::string> shipped;
  for (const LayerKind* kind : shipped_layers()) shipped.insert(kind->name);
  CHECK(tried == shipped);
}

// A replica without examples takes part in a step with an empty batch.
TEST_CASE("an empty batch has gradients of zero for every parameter") {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const GradientCase& one : gradient_cases()) {
      INFO(one.layer.kind << " on " << to_string(one.input));
      const auto tested = make_layer(one.layer, one.input, dtype);
      tested->train();
      Shape sizes = one.input;
      sizes.insert(sizes.begin(), 0);
      const at::Tensor input = at::empty(sizes, dtype).set_requires_grad(true);
      tested->forward(input).sum().backward();
      CHECK(input.grad().sizes() == input.sizes());
      for (const at::Tensor& parameter : tested->parameters()) {
        REQUIRE(parameter.grad().defined());
        CHECK(at::equal(parameter.grad(), at::zeros_like(parameter)));
      }
    }
  }
}

}  // namespace
}  // namespace dtrain
