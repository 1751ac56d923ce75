// attention: multi-head self-attention (Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762,
// section 3.2.2) with the variables of PyTorch's nn.MultiheadAttention: `in_proj_weight` [3 * features,
// features] has the queries' rows, then the keys' and the values', each head's together. They begin as there
// (torch/nn/modules/activation.py, _reset_parameters): in_proj_weight with glorot_uniform, out_proj_weight as
// nn.Linear, uniform in +-1 / sqrt(features), and biases with zeros.
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>

#include "layers/tokens.h"
#include "models/products.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

const AttentionFields& attention_fields(const LayerSpec& spec) { return spec.own.get<AttentionFields>(); }

LayerSizes place_attention(const LayerSpec& spec, const Shape& input) {
  const int64_t heads = attention_fields(spec).heads;
  auto problem = tokens_problem(input);
  if (problem.empty()) problem = range_problem("heads", heads);
  if (problem.empty() && input[1] % heads != 0)
    problem =
        fmt::format("its {} heads cannot share {} features evenly; use a number of heads that divides it",
                    heads, input[1]);
  if (!problem.empty()) return fault(problem);
  return {input, bounded_product({4, input[1], input[1] + 1})};
}

class Attention final : public Layer {
 public:
  Attention(const PlacedLayer& layer, WeightMaker& weights)
      : heads_(attention_fields(layer.spec).heads), dropout_(attention_fields(layer.spec).dropout) {
    const int64_t features = layer.input_shape[1];
    in_weight_ =
        register_parameter("in_proj_weight", weights.kernel("glorot_uniform", {3 * features, features}));
    in_bias_ = register_parameter("in_proj_bias", weights.constant({3 * features}, 0));
    out_weight_ = register_parameter(
        "out_proj_weight",
        weights.uniform({features, features}, 1 / std::sqrt(static_cast<double>(features))));
    out_bias_ = register_parameter("out_proj_bias", weights.constant({features}, 0));
  }

  at::Tensor forward(const at::Tensor& input) override {
    const int64_t of_head = input.size(2) / heads_;
    const at::Tensor parts = dense_product(input, in_weight_, in_bias_)
                                 .view({input.size(0), input.size(1), 3, heads_, of_head})
                                 .permute({2, 0, 3, 1, 4});  // [3, n, heads, tokens, features of a head]
    const at::Tensor mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], /*attn_mask=*/{},
                                                              is_training() ? dropout_ : 0);
    return dense_product(mixed.transpose(1, 2).reshape(input.sizes()), out_weight_, out_bias_);
  }

 private:
  int64_t heads_;
  double dropout_;
  at::Tensor in_weight_, in_bias_, out_weight_, out_bias_;
};

// The four products with weights, and those of the tokens with each other and with the values.
double operations_of_attention(const PlacedLayer& layer) {
  const auto tokens = static_cast<double>(layer.input_shape[0]);
  const auto features = static_cast<double>(layer.input_shape[1]);
  return 8 * tokens * features * features + 4 * tokens * tokens * features;
}

// Queries, keys, values and what becomes of them; with dropout also four numbers for each pair of tokens, as
// measured: its share before and after, and what becomes of it.
int64_t attention_keeps(const PlacedLayer& layer) {
  const int64_t tokens = layer.input_shape[0];
  const auto& [heads, dropout] = attention_fields(layer.spec);
  return bounded_product({4, tokens, layer.input_shape[1]}) +
         (dropout > 0 ? bounded_product({4, heads, tokens, tokens}) : 0);
}

void attention_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const int64_t tokens = layer.input_shape[0], heads = attention_fields(layer.spec).heads;
  const int64_t of_head = layer.input_shape[1] / heads;
  const auto named = [&](const char* part) { return layer.name + "." + part; };
  const auto turn = [&](const char* part, const std::vector<int64_t>& order) {
    graph.add("Transpose", named(part), {}, {onnx_attribute("perm", order)});
    return graph.last();
  };
  onnx_dense_of_tokens(graph, named("in_proj"), {tokens, 3, heads, of_head},
                       {graph.variable(layer, "in_proj_weight"), graph.variable(layer, "in_proj_bias")});
  const std::string all = turn("parts", {2, 0, 3, 1, 4});
  const auto take = [&](const char* part, int64_t number) {
    graph.continue_from(all);
    const std::string index = graph.constant(named(part) + ".index", at::scalar_tensor(number, at::kLong));
    graph.add("Gather", named(part), {index}, {onnx_attribute("axis", int64_t{0})});
    return graph.last();
  };
  const std::string values = take("values", 2);
  take("keys", 1);
  const std::string keys = turn("turned_keys", {0, 1, 3, 2});
  take("queries", 0);
  const double scale = 1 / std::sqrt(static_cast<double>(of_head));
  graph.add("Mul", named("scaled"), {graph.constant(named("scale"), graph.scalar(scale))});
  graph.add("MatMul", named("scores"), {keys});
  graph.add("Softmax", named("shares"), {}, {onnx_attribute("axis", int64_t{-1})});
  graph.add("MatMul", named("mixed"), {values});
  turn("tokens", {0, 2, 1, 3});
  onnx_dense_of_tokens(graph, layer.name, layer.output_shape,
                       {graph.variable(layer, "out_proj_weight"), graph.variable(layer, "out_proj_bias")});
}

std::string attention_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  const int64_t heads = attention_fields(layer.spec).heads, features = layer.input_shape[1];
  const auto part = [&](int64_t number) {
    const auto rows = [&](const char* variable) {
      return fmt::format("torch.narrow({}, 0, {}, {})", names(layer, variable), number * features, features);
    };
    return fmt::format("torch.transpose(torch.unflatten(torch.linear(x, {}, {}), 2, [{}, {}]), 1, 2)",
                       rows("in_proj_weight"), rows("in_proj_bias"), heads, features / heads);
  };
  return fmt::format(
      "torch.linear(torch.flatten(torch.transpose(torch.scaled_dot_product_attention({}, {}, {}), 1, 2), 2), "
      "{}, {})",
      part(0), part(1), part(2), names(layer, "out_proj_weight"), names(layer, "out_proj_bias"));
}

}  // namespace

const LayerKind kAttention = {
    .name = "attention",
    .place = place_attention,
    .make = make_module<Attention>,
    .operations = operations_of_attention,
    .keeps = attention_keeps,
    .draws = [](const LayerSpec& spec) { return attention_fields(spec).dropout > 0; },
    .is_half_block = true,
    .onnx = attention_onnx,
    .torchscript = attention_torchscript};

}  // namespace dtrain
