// Layers of tokens, against PyTorch's own attention and numbers worked out by hand.
#include <torch/nn/modules/activation.h>

#include <cmath>

#include "models/tensors.h"

namespace dtrain {
namespace {

void set_variable(Layer& layer, const std::string& name, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  layer.named_parameters()[name].copy_(value);
}

// torch::nn::MultiheadAttention takes [tokens, n, features], and multiplies and sums in its own way.
TEST_CASE("attention is LibTorch's MultiheadAttention with the same weights, and so are its gradients") {
  const int64_t heads = GENERATE(1, 3, 12), tokens = GENERATE(1, 7);
  const auto tested = make_layer(attention(heads), {tokens, 12});
  torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(12, heads));
  theirs->to(at::kDouble);
  auto ours = tested->named_parameters();
  for (auto& item : ours)
    set_variable(*tested, item.key(), noise(item.value().sizes().vec(), item.key().size()));
  {
    const at::NoGradGuard no_grad;
    theirs->in_proj_weight.copy_(ours["in_proj_weight"]);
    theirs->in_proj_bias.copy_(ours["in_proj_bias"]);
    theirs->out_proj->weight.copy_(ours["out_proj_weight"]);
    theirs->out_proj->bias.copy_(ours["out_proj_bias"]);
  }
  const at::Tensor x = noise({4, tokens, 12}).requires_grad_(),
                   y = x.detach().transpose(0, 1).clone().requires_grad_();
  const at::Tensor output = tested->forward(x);
  const at::Tensor expected = std::get<0>(theirs->forward(y, y, y)).transpose(0, 1);
  CHECK(difference(output, expected) < 1e-10);
  const at::Tensor slopes = noise({4, tokens, 12}, 3);
  (output * slopes).sum().backward();
  (expected * slopes).sum().backward();
  CHECK(difference(x.grad(), y.grad().transpose(0, 1)) < 1e-10);
  CHECK(difference(ours["in_proj_weight"].grad(), theirs->in_proj_weight.grad()) < 1e-10);
  CHECK(difference(ours["in_proj_bias"].grad(), theirs->in_proj_bias.grad()) < 1e-10);
  CHECK(difference(ours["out_proj_weight"].grad(), theirs->out_proj->weight.grad()) < 1e-10);
  CHECK(difference(ours["out_proj_bias"].grad(), theirs->out_proj->bias.grad()) < 1e-10);
}

TEST_CASE("attention of two tokens by hand") {
  // Queries are x, keys 2x, values 10x: token a gives b the share 1 / (1 + exp(2a(a - b))).
  const auto tested = make_layer(attention(1), {2, 1});
  set_variable(*tested, "in_proj_weight", tensor({1, 2, 10}, {3, 1}));
  set_variable(*tested, "out_proj_weight", tensor({1}, {1, 1}));
  set_variable(*tested, "out_proj_bias", tensor({0.5}, {1}));
  const auto mixed = [](double a, double b) {
    const double share = 1 / (1 + std::exp(2 * a * (a - b)));
    return 10 * (a + share * (b - a)) + 0.5;
  };
  CHECK(difference(tested->forward(tensor({1, 3}, {1, 2, 1})),
                   tensor({mixed(1, 3), mixed(3, 1)}, {1, 2, 1})) < 1e-12);
}

TEST_CASE("dropout of attention weights keeps the expectation, and does nothing in evaluation") {
  const auto dropping = make_layer(attention(2, 0.25), {3, 4}), plain = make_layer(attention(2), {3, 4});
  const at::Tensor x = noise({1, 3, 4});
  const at::Tensor expected = plain->forward(x);
  at::manual_seed(5);
  const at::Tensor many = dropping->forward(x.expand({40000, 3, 4}));
  CHECK(difference(many[0], expected[0]) > 1e-3);
  CHECK(difference(many.mean(0), expected[0]) < 0.01);
  dropping->eval();
  CHECK(difference(dropping->forward(x), expected) < 1e-14);
}

TEST_CASE("patches become tokens in rows, each the product of its pixels with the kernel") {
  const auto tested = make_layer(patches(2, 5), {3, 4, 6});
  const at::Tensor images = noise({2, 3, 4, 6});
  auto variables = tested->named_parameters();
  set_variable(*tested, "bias", noise({5}, 3));
  const at::Tensor tokens = tested->forward(images);
  REQUIRE(tokens.sizes() == at::IntArrayRef({2, 6, 5}));
  CHECK(tokens.is_contiguous());
  for (int64_t row = 0; row < 2; ++row) {
    for (int64_t column = 0; column < 3; ++column) {
      const at::Tensor patch = images.narrow(2, 2 * row, 2).narrow(3, 2 * column, 2).reshape({2, 12});
      const at::Tensor expected =
          at::matmul(patch, variables["weight"].reshape({5, 12}).t()) + variables["bias"];
      CHECK(difference(tokens.select(1, 3 * row + column), expected) < 1e-13);
    }
  }
  CHECK(difference(tested->forward(images.contiguous(at::MemoryFormat::ChannelsLast)), tokens) < 1e-13);
}

TEST_CASE("tokens: the class token is put first, positions are added, and the first is taken out") {
  const at::Tensor x = tensor({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const auto classes = make_layer(layer("class_token"), {2, 2});
  CHECK(difference(classes->forward(x), tensor({0, 0, 1, 2, 3, 4, 0, 0, 5, 6, 7, 8}, {2, 3, 2})) == 0);
  set_variable(*classes, "weight", tensor({-1, -2}, {1, 1, 2}));
  CHECK(difference(classes->forward(x), tensor({-1, -2, 1, 2, 3, 4, -1, -2, 5, 6, 7, 8}, {2, 3, 2})) == 0);
  const auto positions = make_layer(layer("positional_embedding"), {2, 2});
  set_variable(*positions, "weight", tensor({10, 20, 30, 40}, {1, 2, 2}));
  CHECK(difference(positions->forward(x), tensor({11, 22, 33, 44, 15, 26, 37, 48}, {2, 2, 2})) == 0);
  CHECK(difference(make_layer(layer("first_token"), {2, 2})->forward(x), tensor({1, 2, 5, 6}, {2, 2})) == 0);
}

TEST_CASE("dense and layer_norm take each token by itself") {
  const at::Tensor x = noise({2, 3, 4});
  for (const LayerSpec& spec : {dense(5), without_bias(dense(5)), layer("layer_norm")}) {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      const auto tokens = make_layer(spec, {3, 4}, type), one = make_layer(spec, {4}, type);
      const at::Tensor output = tokens->forward(x.to(type));
      for (int64_t token = 0; token < 3; ++token)
        CHECK(difference(output.select(1, token), one->forward(x.to(type).select(1, token))) < 1e-6);
    }
  }
}

TEST_CASE("stochastic_depth drops whole examples, and scales the others") {
  const auto drop = make_layer({.kind = "stochastic_depth", .own = DropoutFields{0.2}}, {3, 4});
  const at::Tensor x = at::ones({10000, 3, 4}, at::kDouble);
  at::manual_seed(5);
  const at::Tensor y = drop->forward(x);
  const at::Tensor of_example = y.flatten(1);
  CHECK(difference(of_example, of_example.select(1, 0).unsqueeze(1).expand({-1, 12})) == 0);
  CHECK((y == 0).to(at::kDouble).mean().item<double>() == Approx(0.2).margin(0.02));  // 5 standard deviations
  CHECK(y.max().item<double>() == Approx(1.25));
  drop->eval();
  CHECK(difference(drop->forward(x), x) == 0);
}

// torchvision's models/vision_transformer.py and torch/nn/modules/activation.py.
TEST_CASE("layers of tokens begin as torchvision's") {
  const auto deviation = [](const at::Tensor& values) { return values.std().item<double>(); };
  const auto patch = make_layer(patches(8, 256), {3, 16, 16});
  CHECK(deviation(patch->named_parameters()["weight"]) == Approx(1 / std::sqrt(192.0)).epsilon(0.02));
  const auto positions = make_layer(layer("positional_embedding"), {197, 192});
  CHECK(deviation(positions->parameters()[0]) == Approx(0.02).epsilon(0.02));
  CHECK(make_layer(layer("class_token"), {4, 8})->parameters()[0].count_nonzero().item<int64_t>() == 0);
  const auto tested = make_layer(attention(3), {4, 192});
  auto variables = tested->named_parameters();
  const double in = std::sqrt(6.0 / (4 * 192)), out = 1 / std::sqrt(192.0);
  for (const auto& [name, bound] :
       std::vector<std::pair<std::string, double>>{{"in_proj_weight", in}, {"out_proj_weight", out}}) {
    CHECK(variables[name].abs().max().item<double>() <= bound);
    CHECK(deviation(variables[name]) == Approx(bound / std::sqrt(3.0)).epsilon(0.02));
  }
  for (const char* name : {"in_proj_bias", "out_proj_bias"})
    CHECK(variables[name].count_nonzero().item<int64_t>() == 0);
}

}  // namespace
}  // namespace dtrain
